"""Rate limits that count in the shared cache: one small counter a window, however many calls it allows."""

import time
from typing import TYPE_CHECKING

from rest_framework.throttling import AnonRateThrottle, SimpleRateThrottle, UserRateThrottle

if TYPE_CHECKING:  # rest_framework.views itself imports this module
    from rest_framework.request import Request
    from rest_framework.views import APIView


class WindowCount(SimpleRateThrottle):
    """Counts calls in fixed windows instead of keeping the time of each."""

    left: float

    def allow_request(self, request: "Request", view: "APIView") -> bool:
        """Whether this call is among the first `num_requests` of its window."""
        key = self.get_cache_key(request, view)
        if key is None or not self.num_requests or not self.duration:
            return True
        now = time.time()
        self.left = self.duration - now % self.duration
        window = f"{key}:{int(now // self.duration)}"
        self.cache.add(window, 0, self.duration)
        try:
            return bool(self.cache.incr(window) <= self.num_requests)
        except ValueError:  # the window was thrown out of a full cache between the two lines
            return True

    def wait(self) -> float:
        """Seconds until the next window."""
        return self.left


class AnonymousThrottle(WindowCount, AnonRateThrottle):
    """By address, for calls without a sign-in."""


class PersonThrottle(WindowCount, UserRateThrottle):
    """By user; anonymous calls have the limit above."""

    def get_cache_key(self, request: "Request", view: "APIView") -> str | None:
        return super().get_cache_key(request, view) if request.user.is_authenticated else None
