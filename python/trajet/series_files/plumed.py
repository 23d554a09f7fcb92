"""Files of PLUMED: COLVAR, HILLS and others with a column of times."""

from trajet.series_files.rows import Numbers, Rows, TextFile


def read(file: TextFile, time: str = "time") -> Numbers:
    """Return the columns of a file of PLUMED, which may have several headers.

    Units of time and of the values depend on PLUMED's input, and the file does not state them.

    Raises
    ------
    FormatError
        If a row stands before the header, or has not a number for each field.
    """
    rows = Rows(file, time)
    has_header = False
    for number, line in file:
        if line.startswith("#! FIELDS "):
            rows.begin(line.split()[2:])
            has_header = True
        elif row := line.partition("#")[0].strip():
            if not has_header:
                raise file.error(number, "a row before the line #! FIELDS: is this a PLUMED file?")
            rows.add(number, row)
    return Numbers(rows.parts(), time=time, digits=rows.digits, messages=file.messages)
