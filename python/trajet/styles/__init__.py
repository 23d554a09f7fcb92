"""Style sheets of matplotlib: `plt.style.use("trajet.styles.journal")`, `"trajet.styles.talk"`."""
