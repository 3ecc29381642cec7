"""Units of the engine: everything inside is SI (bytes, FLOP, seconds, watts); conversion happens only at the edge."""

KIB = 2**10
MIB = 2**20
GIB = 2**30
KILO = 1e3
MEGA = 1e6
GIGA = 1e9
TERA = 1e12
MICROSECOND = 1e-6
MILLISECOND = 1e-3
HOUR = 3600.0
DAY = 86400.0
HOURS_PER_YEAR = 8760.0
BITS_PER_BYTE = 8
