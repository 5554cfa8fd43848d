"""Memory bandwidths that makers publish, for devices whose driver does not tell and that were not measured.

A device's description goes in, as its driver writes it. Promises: a name is known whole or not at all, so
that an "RTX 4070 Ti" is never taken for an "RTX 4070". Where one name was sold with several memories, the
slowest counts. Sources: data sheets at nvidia.com, amd.com and intel.com, technical specifications at
support.apple.com.
"""

from __future__ import annotations

import re

_GIGABYTES_PER_SECOND = {
    "M1": 68.25,
    "M1 PRO": 200,
    "M1 MAX": 400,
    "M1 ULTRA": 800,
    "M2": 100,
    "M2 PRO": 200,
    "M2 MAX": 400,
    "M2 ULTRA": 800,
    "M3": 100,
    "M3 PRO": 150,
    "M3 MAX": 300,
    "M3 ULTRA": 819,
    "M4": 120,
    "M4 PRO": 273,
    "M4 MAX": 410,
    "RTX 3060": 360,
    "RTX 3070": 448,
    "RTX 3080": 760,
    "RTX 3090": 936,
    "RTX 4060": 272,
    "RTX 4060 TI": 288,
    "RTX 4070": 504,
    "RTX 4080": 716.8,
    "RTX 4090": 1008,
    "RTX 5070": 672,
    "RTX 5080": 960,
    "RTX 5090": 1792,
    "GB10": 273,
    "L4": 300,
    "L40S": 864,
    "A100-SXM4-40GB": 1555,
    "A100-SXM4-80GB": 2039,
    "A100 80GB PCIE": 1935,
    "H100 PCIE": 2000,
    "H100 80GB HBM3": 3350,
    "H200": 4800,
    "RX 6800 XT": 512,
    "RX 6900 XT": 512,
    "RX 7800 XT": 624,
    "RX 7900 XT": 800,
    "RX 7900 XTX": 960,
    "ARC A770": 512,
    "ARC B580": 456,
}
_MAKERS = re.compile(r"\b(NVIDIA|GEFORCE|AMD|RADEON|APPLE|INTEL|GRAPHICS)\b|\([^()]*\)")


def published_bandwidth(description: str) -> float | None:
    """Bytes a second of the device called so; None if it is not in the table."""
    name = " ".join(_MAKERS.sub(" ", description[:200].upper()).split())
    known = _GIGABYTES_PER_SECOND.get(name)
    return None if known is None else known * 1e9
