"""`manage.py create_token USER`: print a token for scripts."""

from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import CommandError, CommandParser

from accounts.models import Scope, User
from accounts.services import DEFAULT_TOKEN_DAYS, token_create
from faces.commands import ReadyCommand


class Command(ReadyCommand):
    """Prints one token, and nothing else, to standard output. Makes the user where there is none of that name."""

    help = "Make an API token for a user and print it. A user who is not there yet is made, without a password."

    def add_arguments(self, parser: CommandParser) -> None:
        parser.add_argument("user", help="name of the user")
        parser.add_argument("--scope", default="read,plan,upload", help=f"comma-separated: {', '.join(Scope.values)}")
        parser.add_argument("--name", default="command line", help="what the token is called on the tokens page")
        parser.add_argument("--days", type=int, default=DEFAULT_TOKEN_DAYS, help="days until it expires; 0 for never")

    def handle(self, *args: Any, **options: Any) -> None:
        try:
            user = self._user(options["user"])
            scopes = [scope.strip() for scope in options["scope"].split(",")]
            _row, text = token_create(user=user, name=options["name"], scopes=scopes, days=options["days"] or None)
        except ValidationError as error:
            raise CommandError(" ".join(error.messages)) from error
        self.stdout.write(text)

    def _user(self, name: str) -> User:
        try:
            return User.objects.get(username=name)
        except User.DoesNotExist:
            user = User(username=name)
            user.set_unusable_password()
            user.full_clean(exclude=["password"])
            user.save()
            self.stderr.write(f"Made the user {name}, who cannot sign in until manage.py changepassword {name}.")
            return user
