"""Reads the file format of Octave's `save -binary` (little-endian): strings, matrices of numbers and cells of them."""
import struct

NUMBERS = {0: "B", 1: "H", 2: "I", 3: "b", 4: "h", 5: "i", 6: "f", 7: "d"}  # a matrix is stored in the smallest that holds it


class Reader:
    def __init__(self, data):
        self.data, self.position = data, 10
        if data[:10] != b"Octave-1-L":
            raise ValueError("not a little-endian file of Octave's `save -binary`")
        self.take("B")  # format of floating-point numbers

    def take(self, form, count=1):
        values = struct.unpack_from(f"<{count}{form}", self.data, self.position)
        self.position += struct.calcsize(f"<{count}{form}")
        return values if count != 1 else values[0]

    def text(self):
        size = self.take("i")
        self.position += size
        return self.data[self.position - size : self.position].decode()

    def columns(self, form=None):
        """A matrix: its columns. The sizes are (-rank, size..)."""
        if self.take("i") != -2:
            raise ValueError("matrices of two axes are read here")
        rows, columns = self.take("i", 2)
        form = form or NUMBERS[self.take("B")]
        return [list(self.take(form, rows)) if rows != 1 else [self.take(form)] for _ in range(columns)]

    def variable(self):
        name, _, _, kind = self.text(), self.text(), self.take("B"), self.take("B")
        kind = self.text() if kind == 255 else kind
        if kind == "matrix":
            return name, self.columns()
        if kind in ("string", "sq_string"):
            lines = ["".join(map(chr, row)).rstrip() for row in zip(*self.columns("B"))]
            return name, lines[0] if len(lines) == 1 else lines
        if kind == "cell":
            if self.take("i") != -2:
                raise ValueError("cells of two axes are read here")
            rows, columns = self.take("i", 2)
            return name, [self.variable()[1] for _ in range(rows * columns)]
        raise ValueError(f"variables of type {kind} are not read here")

    def variables(self):
        result = {}
        while self.position < len(self.data):
            name, value = self.variable()
            result[name] = value
        return result
