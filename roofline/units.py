"""Units of the engine: everything inside is SI (bytes, FLOP, seconds, watts); conversion happens only at the edge."""

GIB = 2**30
KILO = 1e3
MEGA = 1e6
GIGA = 1e9
TERA = 1e12
MILLISECOND = 1e-3
HOUR = 3600.0
DAY = 86400.0
HOURS_PER_YEAR = 8760.0
