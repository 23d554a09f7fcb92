"""Failures of requests: their kinds, and descriptions without a word of the server or the URL.

The texts of obstore's errors hold the whole URL, with its signature and password.
"""

import re
from dataclasses import dataclass
from typing import Literal, TypeAlias

from trajet._trajet import RemoteError

Kind: TypeAlias = Literal["transient", "busy", "replaced", "missing", "denied", "refused"]
Failure: TypeAlias = tuple[Kind, str]


@dataclass(frozen=True)
class _Rule:
    """Answers that are failures of one kind.

    An answer fits if its status is among `statuses`, or the error is of one of the classes, and if
    it has the text, where there is one.
    """

    kind: Kind
    what: str
    statuses: range | frozenset[int] = frozenset()
    classes: frozenset[str] = frozenset()
    text: re.Pattern[str] = re.compile("")

    def fits(self, name: str, status: int, text: str) -> bool:
        """Return whether an error of a class, status and text is such a failure."""
        is_listed = status in self.statuses or name in self.classes
        return is_listed and self.text.search(text) is not None


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
        " AWS_SECRET_ACCESS_KEY, …), or storage_options={'skip_signature': True} (--storage-option"
        " skip_signature=true) for a public bucket",
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
        "access is denied: give credentials (in the environment, or storage_options=), or"
        " storage_options={'skip_signature': True} (--storage-option skip_signature=true) for a"
        " public bucket",
        frozenset({401, 403}),
        frozenset({"PermissionDeniedError", "UnauthenticatedError"}),
    ),
    _Rule("replaced", "", frozenset({412, 416}), frozenset({"PreconditionError"})),
    _Rule(
        "missing",
        "there is no such object",
        frozenset({404, 410}),
        frozenset({"FileNotFoundError", "NotFoundError"}),
    ),
    _Rule(
        "refused",
        "the server sends no ranges of bytes: download the file, and open the copy",
        classes=frozenset({"NotSupportedError", "NotImplementedError"}),
    ),
    _Rule("busy", "the server is busy or failed", frozenset({408, 425, 429, 503})),
    _Rule("transient", "the server is busy or failed", range(500, 600)),
    _Rule("refused", "the server does not take the request: check the URL", range(300, 500)),
)


def failure_of(error: Exception) -> Failure:
    """Return the kind and description of an error of obstore.

    Errors without a status are those of connections, which may succeed later.
    """
    text = str(error).partition("\n\nDebug source")[0]
    found = re.search(r"status code: (\d{3})", text)
    status, name = int(found[1]) if found else 0, type(error).__name__
    for rule in _RULES:
        if rule.fits(name, status, text):
            return rule.kind, f"{rule.what} (status {status})" if status else rule.what
    # The reason is only in the repr of the source error, which is not shown.
    if reason := _CERTIFICATE_ERROR.search(str(error)):
        return "refused", untrusted(reason[3].removesuffix("Context"))
    if re.search("header (missing|not present)|value for CONTENT_RANGE", text, re.IGNORECASE):
        return "transient", (
            "the server does not state sizes as it should (Content-Length, and Content-Range with"
            " the size of the file): download the file, and open the copy"
        )
    if "Requested " in text:
        return "transient", "other bytes were sent than asked for"
    return "transient", "the connection failed, or took too long"


def untrusted(reason: str) -> str:
    """Return the description of a failure due to the certificate of a server.

    Parameters
    ----------
    reason
        Why it is refused: a variant of rustls' `CertificateError`, or any other words.
    """
    what = _CERTIFICATES.get(reason, f"is not trusted ({reason})")
    return f"the certificate of the server {what}"


def exception_of(shown: str, failure: Failure, doing: str = "open") -> Exception:
    """Return the exception for an object that cannot be opened, or written."""
    kind, what = failure
    message = f"{shown}: cannot {doing} it: {what}"
    if kind == "missing":
        return FileNotFoundError(message)
    return PermissionError(message) if kind == "denied" else RemoteError(message)
