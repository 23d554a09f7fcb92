"""`Opening`: how the store of a URL is opened through obstore."""

import hashlib
import os
import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, cast

from trajet._trajet import MissingPackageError, RemoteError
from trajet.remote.names import Address, StorageOptions, without_secrets

if TYPE_CHECKING:
    from obstore.store import ClientConfig, ObjectStore

    from trajet.remote.redirects import Target

_CLIENT: "ClientConfig" = {"connect_timeout": "10s", "read_timeout": "15s", "timeout": "5m"}
# The option that allows any certificate.
_INVALID = "allow_invalid_certificates"
# Names of options, and of variables of the environment, that say where a bucket is.
_PLACE = re.compile("endpoint|account_name|emulator", re.IGNORECASE)
_SERVICES = ("AWS_", "AZURE_", "GOOGLE_")
# The process that was the first to use obstore, which starts threads.
_processes: list[int] = []


@dataclass(frozen=True, repr=False)
class Opening:
    """How a store is opened: where, with which options, and whether without encryption.

    `target` is where redirects of the URL lead.
    """

    address: Address
    options: StorageOptions
    allow_http: bool
    target: "Target | None" = None

    def without_secrets(self) -> "Opening":
        """Return it with options that may be sent to other machines."""
        return Opening(self.address, without_secrets(self.options) or {}, self.allow_http)

    @property
    def is_http(self) -> bool:
        """Whether it is the URL of a web server."""
        return self.address.scheme in {"http", "https"}

    def resolved(self) -> "Opening":
        """Return it after redirects, which takes a request; itself for object storage.

        Raises
        ------
        RemoteError
            If the server redirects to an address that must not be read.
        OSError
            If there is no answer.
        """
        if not self.is_http:
            return self
        from trajet.remote.redirects import resolve

        client = self._client()
        url, headers = self.address.store, self._headers(client)
        return replace(self, target=resolve(url, self.address.shown, headers, client))

    def _client(self) -> Mapping[str, object]:
        """Return the options of clients, both that of obstore and that which asks for redirects.

        Raises
        ------
        ValueError
            If they are no dictionary, or a switch is neither true nor false.
        """
        given = self.options.get("client_options", {})
        if not isinstance(given, Mapping):
            raise ValueError(f"{self.address.shown}: 'client_options' are {{NAME: VALUE}}")
        client: dict[str, object] = {**_CLIENT, **given}
        if _INVALID in client:
            text = str(client[_INVALID]).lower()
            if text not in {"true", "false"}:
                raise ValueError(f"{self.address.shown}: '{_INVALID}' is true or false")
            client[_INVALID] = text == "true"
        return client

    def _headers(self, client: Mapping[str, object]) -> dict[str, str]:
        """Return the headers of requests, with credentials."""
        given = cast(Mapping[str, str | bytes], client.get("default_headers", {}))
        headers = {
            name: value.decode("latin-1") if isinstance(value, bytes) else value
            for name, value in given.items()
        }
        if self.address.authorization is not None:
            headers["authorization"] = self.address.authorization
        return headers

    def store(self) -> "ObjectStore":
        """Return the store; no request is made.

        Raises
        ------
        MissingPackageError
            If obstore is not installed.
        ValueError
            If the options are none of this store.
        RemoteError
            In a process that was forked from one that has used obstore.
        """
        try:
            from obstore import store as stores
        except ImportError as error:
            raise MissingPackageError(
                "reading from remote storage needs obstore: pip install 'trajet[remote]'"
            ) from error
        check_process()
        config = dict(self.options)
        config.pop("client_options", None)
        client = self._client()
        # A request that is made again must name the ETag, be counted, and end when it is cancelled.
        if config.pop("retry_config", None) is not None:
            raise ValueError(f"{self.address.shown}: leave 'retry_config' out of the options")
        merged: dict[str, object] = {**client, "allow_http": self.allow_http}
        merged["default_headers"] = self._headers(client)
        url, target = self.address.store, self.target
        if target is not None:
            url = target.url
            if not target.is_same_server:
                merged |= {"default_headers": {}, "allow_http": False}
        if self.is_http and config:
            raise ValueError(
                f"{self.address.shown}: HTTP has no option {min(config)!r}: give"
                " storage_options={'client_options': {…}} for headers and timeouts"
            )
        options = cast("ClientConfig", merged)
        try:
            if self.is_http:
                return stores.HTTPStore.from_url(
                    url, client_options=options, retry_config={"max_retries": 0}
                )
            # The types that obstore declares depend on the scheme.
            return stores.from_url(
                url,
                config=cast("None", config),
                client_options=cast("None", options),
                retry_config=cast("None", {"max_retries": 0}),
            )
        except Exception as error:
            # The text may quote the options.
            given = ", ".join(sorted(self.options)) or "none were given"
            raise ValueError(
                f"{self.address.shown}: the storage options do not fit"
                f" ({type(error).__name__}): {given}"
            ) from None


def place_of(store: "ObjectStore", opening: Opening | None) -> str | None:
    """Return a digest of what tells a store from others beside the URLs of its objects.

    Empty if the URL says all; None for a store that is that of this process alone.

    Parameters
    ----------
    store
        The store.
    opening
        How it was opened; None for a store of the caller, whose objects have no URLs.
    """
    config: Mapping[str, object] = getattr(store, "config", {})
    environment = [entry for entry in os.environ.items() if entry[0].startswith(_SERVICES)]
    found = {
        key.lower(): str(value)
        for key, value in [*environment, *config.items()]
        if _PLACE.search(key)
    }
    if opening is None:
        buckets = {key: config[key] for key in ("bucket", "container_name") if key in config}
        url = getattr(store, "url", None)
        if not buckets and url is None:
            return None
        found |= {"store": f"{type(store).__name__} {buckets} {url} {getattr(store, 'prefix', '')}"}
    return hashlib.sha256(repr(sorted(found.items())).encode()).hexdigest()[:16] if found else ""


def check_process() -> None:
    """Raise an error in a process that was forked after obstore had started its threads.

    Raises
    ------
    RemoteError
        In such a process.
    """
    if not _processes:
        _processes.append(os.getpid())
    if os.getpid() not in _processes:
        raise RemoteError(
            "remote storage cannot be read in a process that was forked from one that has read it,"
            " as threads are not copied: start the processes anew (ProcessPool without fork=True,"
            " the method 'spawn')"
        )
