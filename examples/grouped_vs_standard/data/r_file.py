"""Reads what R saved (serialisation format "X", XDR) with Python's standard library: as much of it as data frames need."""
import struct

SYMBOL, PAIRS, CHARS, LOGICAL, INTEGER, REAL, STRINGS, LIST, NULL, REFERENCE = 1, 2, 9, 10, 13, 14, 16, 19, 254, 255


class Vector(list):
    """A vector's values; its attributes (names, levels, ..) by name."""

    def __init__(self, values=(), attributes=None):
        super().__init__(values)
        self.attributes = attributes or {}


class Reader:
    """One serialised object: Reader(bytes).object()."""

    def __init__(self, data):
        self.data, self.position, self.seen = data, 0, []
        if self.bytes(2) != b"X\n":
            raise ValueError("not R's XDR serialisation")
        version = self.integers(3)[0]
        if version == 3:
            self.bytes(self.integer())  # the name of the encoding
        elif version != 2:
            raise ValueError(f"serialisation version {version}: 2 and 3 are known")

    def bytes(self, count):
        self.position += count
        return self.data[self.position - count : self.position]

    def integers(self, count):
        return struct.unpack(f">{count}i", self.bytes(4 * count))

    def integer(self):
        return self.integers(1)[0]

    def pairs(self, flags):
        """A pairlist as a dict; a pair without a tag is dropped. Each cell is followed by the next one's flags."""
        result = {}
        while flags & 255 == PAIRS:
            if flags & 0x200:
                self.object()
            tag = self.object() if flags & 0x400 else None
            result[tag] = self.object()
            flags = self.integer()
        return result

    def object(self):
        flags = self.integer()
        kind = flags & 255
        if kind == NULL:
            return None
        if kind == REFERENCE:
            return self.seen[(flags >> 8) - 1]
        if kind == SYMBOL:
            self.seen.append(self.object())
            return self.seen[-1]
        if kind == PAIRS:
            return self.pairs(flags)
        count = self.integer()
        if kind == CHARS:
            return None if count < 0 else self.bytes(count).decode()
        if kind in (LOGICAL, INTEGER):
            result = Vector(self.integers(count))
        elif kind == REAL:
            result = Vector(struct.unpack(f">{count}d", self.bytes(8 * count)))
        elif kind in (STRINGS, LIST):
            result = Vector([self.object() for _ in range(count)])
        else:
            raise ValueError(f"objects of R's type {kind} are not read here")
        if flags & 0x200:
            result.attributes = self.pairs(self.integer())
        return result
