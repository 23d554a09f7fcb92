"""Failures of requests: their kinds, and descriptions without a word of the server or the URL.

A description names the cause and says what to do. The texts of obstore's errors hold the whole URL,
with its signature and password.
"""

import errno
import re
import socket
import ssl
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trajet._trajet import RemoteError

Kind: TypeAlias = Literal["transient", "busy", "replaced", "missing", "denied", "refused"]
Failure: TypeAlias = tuple[Kind, str]


@dataclass(frozen=True)
class _Rule:
    """Answers that are failures of one kind.

    An answer fits if its status is among `statuses`, or the error is of one of the classes, and if
    it has the text, where there is one. Rules of web servers do not hold for object storage.
    """

    kind: Kind
    what: str
    statuses: range | frozenset[int] = frozenset()
    classes: frozenset[str] = frozenset()
    text: re.Pattern[str] = re.compile("")
    is_web_only: bool = False

    def fits(self, name: str, status: int, text: str, *, is_web: bool) -> bool:
        """Return whether an error of a class, status and text is such a failure."""
        is_listed = status in self.statuses or name in self.classes
        is_meant = is_listed and (is_web or not self.is_web_only)
        return is_meant and self.text.search(text) is not None


@dataclass(frozen=True)
class _Cause:
    """A reason why there is no connection, or no answer.

    `text` is a text of the source of obstore's errors, with spaces or quotes, which no URL has.
    `classes` and `codes` are the exceptions of Python's sockets, and their error numbers.
    """

    what: str
    text: str
    classes: tuple[type[OSError], ...] = ()
    codes: frozenset[int] = frozenset()

    def fits(self, error: Exception) -> bool:
        """Return whether it is the reason of an error."""
        if isinstance(error, OSError) and error.errno in self.codes:
            return True
        return isinstance(error, self.classes) or re.search(self.text, str(error)) is not None


class StatusError(ConnectionError):
    """A server that was asked for redirects is busy or has failed."""

    def __init__(self, status: int) -> None:
        super().__init__(f"status code: {status}")


# What to do about a failure that may be over soon.
LATER = ": try again later"
# The reason why the client library refuses a certificate.
_CERTIFICATE_ERROR = re.compile(
    r"InvalidCertificate\(\s*((Other|OtherError)\(\s*)*([A-Za-z]{1,40})"
)
_OTHER_AUTHORITY = (
    "is not trusted: name that of its authority in storage_options="
    "{'client_options': {'root_certificate': TEXT}}"
)
# What to do about a certificate, by this reason.
_CERTIFICATES = {
    "UnknownIssuer": _OTHER_AUTHORITY,
    # A trusted authority has the name of its authority, and another key.
    "BadSignature": _OTHER_AUTHORITY,
    "Expired": "has expired: check the date of this machine, or ask for a renewed certificate",
    "NotValidYet": "is not valid yet: check the date of this machine",
    "NotValidForName": "is that of another host: check the host in the URL (or the endpoint)",
    "CaUsedAsEndEntity": "is one of an authority (CA:TRUE): ask for one of the server (CA:FALSE)",
}

# The first that fits counts.
_RULES = (
    _Rule(
        "denied",
        "the credentials have expired: renew them (or the signed URL), and open it again",
        frozenset({400, 401, 403}),
        text=re.compile(r"expired|TokenRefreshRequired", re.IGNORECASE),
    ),
    _Rule(
        "denied",
        "there are no credentials: set them in the environment (AWS_ACCESS_KEY_ID and"
        " AWS_SECRET_ACCESS_KEY, …), or storage_options={'skip_signature': True} for a"
        " public bucket",
        frozenset({0, *range(400, 500)}),
        # Servers that give machines in a cloud their credentials.
        text=re.compile(r"https?://(169\.254\.\d+\.\d+|metadata\.google\.internal)[:/]"),
    ),
    _Rule(
        "denied",
        "the credentials are wrong: check the access key and its secret",
        frozenset({400, 401, 403}),
        text=re.compile(
            "InvalidAccessKeyId|SignatureDoesNotMatch|InvalidToken|InvalidClientTokenId"
            "|AuthenticationFailed"
        ),
    ),
    _Rule(
        "denied",
        "trajet serve does not know this name of its host: start it with this host name",
        frozenset({403}),
        text=re.compile("not known by this host name"),
        is_web_only=True,
    ),
    _Rule(
        "denied",
        "the token, or user and password, are missing or wrong: give them in the URL, as in"
        " https://USER:PASSWORD@HOST/… (trajet serve prints the whole URL with its token)",
        frozenset({401}),
        is_web_only=True,
    ),
    _Rule(
        "denied",
        "access is denied: check the URL, and the token, or user and password, in it",
        frozenset({403}),
        is_web_only=True,
    ),
    _Rule(
        "denied",
        "access is denied: give credentials (in the environment, or storage_options=), or"
        " storage_options={'skip_signature': True} for a public bucket",
        frozenset({401, 403}),
        frozenset({"PermissionDeniedError", "UnauthenticatedError"}),
    ),
    _Rule("replaced", "", frozenset({412, 416}), frozenset({"PreconditionError"})),
    _Rule(
        "missing",
        "there is no such object: check its name",
        frozenset({404, 410}),
        frozenset({"FileNotFoundError", "NotFoundError"}),
    ),
    _Rule(
        "refused",
        "the server sends no ranges of bytes: download the file, and open the copy",
        classes=frozenset({"NotSupportedError", "NotImplementedError"}),
    ),
    _Rule("busy", f"the server is overloaded{LATER}", frozenset({408, 425, 429, 503})),
    _Rule("transient", f"the server failed{LATER}", range(500, 600)),
    _Rule("refused", "the server does not take the request: check the URL", range(300, 500)),
)

# The first that fits counts. Connections may succeed later, so that they are tried again.
_CAUSES = (
    _Cause(
        "the host is unknown: check its name in the URL (or the endpoint), and the network",
        '"dns error"',
        (socket.gaierror,),
    ),
    _Cause(
        "the connection was refused: check host and port, and whether the server is running",
        "kind: ConnectionRefused",
        (ConnectionRefusedError,),
    ),
    _Cause(
        "the server did not answer in time: try again later, or wait longer with storage_options="
        "{'client_options': {'read_timeout': '60s'}}",
        "kind: Timeout|kind: TimedOut",
        (TimeoutError,),
    ),
    _Cause(
        "there is no route to the host: check the network (VPN, firewall, proxy)",
        "kind: (Host|Network)Unreachable",
        codes=frozenset({errno.EHOSTUNREACH, errno.ENETUNREACH}),
    ),
    _Cause(
        "there is no encrypted connection: check whether the port is one of https:// or http://",
        r"error: (InvalidMessage|AlertReceived)\(",
        (ssl.SSLError,),
    ),
    _Cause(
        f"the server closed the connection{LATER}",
        r"kind: (Interrupted|ConnectionReset)|hyper::Error\(\s*IncompleteMessage",
        (ConnectionResetError, BrokenPipeError),
    ),
)
_OTHER_CAUSE = "the connection failed: check host and port, or try again later"


def failure_of(error: Exception, *, is_web: bool = False) -> Failure:
    """Return the kind and description of an error of obstore, or of asking for redirects.

    Parameters
    ----------
    error
        The error. One without a status is that of a connection, which may succeed later.
    is_web
        Whether a web server is asked, and not object storage.
    """
    text = str(error).partition("\n\nDebug source")[0]
    found = re.search(r"status code: (\d{3})", text)
    status, name = int(found[1]) if found else 0, type(error).__name__
    for rule in _RULES:
        if rule.fits(name, status, text, is_web=is_web):
            cause, divider, advice = rule.what.partition(": ")
            answer = f" (status {status})" if status else ""
            return rule.kind, f"{cause}{answer}{divider}{advice}"
    # The reason is only in the repr of the source error, which is not shown.
    if reason := _CERTIFICATE_ERROR.search(str(error)):
        return "refused", untrusted(reason[3].removesuffix("Context"))
    if re.search("header (missing|not present)|value for CONTENT_RANGE", text, re.IGNORECASE):
        return "transient", (
            "the server does not state sizes as it should (Content-Length, and Content-Range with"
            " the size of the file): download the file, and open the copy"
        )
    if "Requested " in text:
        return "transient", f"other bytes were sent than asked for{LATER}"
    return "transient", next((one.what for one in _CAUSES if one.fits(error)), _OTHER_CAUSE)


def untrusted(reason: str) -> str:
    """Return the description of a failure due to the certificate of a server.

    Parameters
    ----------
    reason
        Why it is refused: a variant of rustls' `CertificateError`, or any other words.
    """
    what = _CERTIFICATES.get(reason, f"is not trusted ({reason}): ask who runs the server")
    return f"the certificate of the server {what}"


def exception_of(shown: str, failure: Failure, doing: str = "open") -> Exception:
    """Return the exception for an object that cannot be opened, or written."""
    kind, what = failure
    message = f"{shown}: cannot {doing} it: {what}"
    if kind == "missing":
        return FileNotFoundError(message)
    return PermissionError(message) if kind == "denied" else RemoteError(message)
