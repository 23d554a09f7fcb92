"""Conductivity of a molten salt, and of ions that move on their own."""

import trajet as tj

salt = tj.samples.molten_salt().open().nojump()
result = tj.conductivity(salt.all_atoms(), temperature=1150, max_lag=8, fit_range=(1, 8))
print(result.summary())
result.plot(title="molten NaCl").savefig("conductivity.png")
numbers = result.scalars()
einstein, alone = (numbers[f"{name}conductivity_S_per_m"] for name in ("", "nernst_einstein_"))
print(f"Ions move together: {einstein:.0f} S/m are {einstein / alone:.2f} of {alone:.0f} S/m.")
