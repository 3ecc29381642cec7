"""Rate limits that count in the shared cache, in portions, so that a call seldom costs a write."""

import threading
import time
from typing import TYPE_CHECKING, ClassVar

from django.core.cache.backends.base import BaseCache
from rest_framework.throttling import AnonRateThrottle, SimpleRateThrottle, UserRateThrottle

if TYPE_CHECKING:  # rest_framework.views itself imports this module
    from rest_framework.request import Request
    from rest_framework.views import APIView

PORTIONS = 100  # a process tells the others after each hundredth of a limit
MOST_COUNTERS = 10_000


class Counter:
    """Calls of one window: those that all processes told, and those of this one since it last told."""

    def __init__(self) -> None:
        self.told = 0
        self.untold = 0

    def count(self, key: str, portion: int, cache: BaseCache, life: int) -> int:
        """Add one call; returns how many are known."""
        self.untold += 1
        if self.untold >= portion or self.told == 0:
            cache.add(key, 0, life)
            self.told, self.untold = self._tell(key, cache), 0
        return self.told + self.untold

    def _tell(self, key: str, cache: BaseCache) -> int:
        try:
            return int(cache.incr(key, self.untold))
        except ValueError:  # a full cache threw the window out between the two lines
            return self.told + self.untold


class WindowCount(SimpleRateThrottle):
    """Counts calls in fixed windows instead of keeping the time of each."""

    counters: ClassVar[dict[str, Counter]] = {}
    lock: ClassVar[threading.Lock] = threading.Lock()
    num_requests: int | None
    duration: int | None
    left: float

    def allow_request(self, request: "Request", view: "APIView") -> bool:
        """Whether this call is among the first `num_requests` of its window."""
        key = self.get_cache_key(request, view)
        if key is None or not self.num_requests or not self.duration:
            return True
        now = time.time()
        self.left = self.duration - now % self.duration
        return self._count(f"{key}:{int(now // self.duration)}") <= self.num_requests

    def _count(self, window: str) -> int:
        portion = max(1, (self.num_requests or 1) // PORTIONS)
        with self.lock:
            if len(self.counters) > MOST_COUNTERS:
                self.counters.clear()
            counter = self.counters.setdefault(window, Counter())
            return counter.count(window, portion, self.cache, self.duration or 1)

    def wait(self) -> float:
        """Seconds until the next window."""
        return self.left


class AnonymousThrottle(WindowCount, AnonRateThrottle):
    """By address, for calls without a sign-in."""


class PersonThrottle(WindowCount, UserRateThrottle):
    """By user; anonymous calls have the limit above."""

    def get_cache_key(self, request: "Request", view: "APIView") -> str | None:
        return super().get_cache_key(request, view) if request.user.is_authenticated else None
