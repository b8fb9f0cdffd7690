"""Keys, certificates and tokens of one sandbox. They are made once and stay as long as its folder."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, Final

from sandbox.layout import HOST
from sandbox.paths import private_dir, write_private

if TYPE_CHECKING:
    from cryptography import x509
    from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePrivateKey, EllipticCurvePublicKey
    from cryptography.hazmat.primitives.asymmetric.rsa import RSAPrivateKey, RSAPublicKey

KUEUE_NAMESPACE: Final = "kueue-system"
KUEUE_SERVICE: Final = "kueue-webhook-service"
_YEARS: Final = 10
LEAN_KUEUE: Final = "kueue-lean"
"""Who Kueue is in a lean sandbox, see `sandbox.kueue`."""
USERS: Final = {
    "admin": ("hyperpod-platform:admin", "system:masters"),
    "kube-controller-manager": ("system:kube-controller-manager", ""),
    "kube-scheduler": ("system:kube-scheduler", ""),
    "kueue": (f"system:serviceaccount:{KUEUE_NAMESPACE}:kueue-controller-manager", "system:masters"),
    LEAN_KUEUE: ("hyperpod-platform:kueue-lean", ""),
    "kwok": ("hyperpod-platform:kwok", "system:masters"),
}
"""Who holds a token → user name and group at the API server; the names are those that a real cluster's audit shows."""


class Pki:
    """Paths of the files below a sandbox's `pki/`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.ca = folder / "ca.crt"
        self.cert = folder / "server.crt"
        self.key = folder / "server.key"
        self.service_account_key = folder / "service-account.key"
        self.tokens = folder / "tokens.csv"
        self.kueue = folder / "kueue"
        """Kueue's `webhook.certDir`: the files of its certificate Secret."""

    def token(self, holder: str) -> str:
        """The token of one of USERS."""
        user = USERS[holder][0]
        rows = (line.split(",") for line in self.tokens.read_text(encoding="utf-8").splitlines())
        return next(row[0] for row in rows if row[1] == user)

    def ensure(self) -> None:
        """Make what isn't there yet; the token file is written last and so marks a complete set."""
        if self.tokens.is_file():
            return
        from cryptography.hazmat.primitives.asymmetric import ec, rsa

        private_dir(self.folder)
        private_dir(self.kueue)
        ca_key = ec.generate_private_key(ec.SECP256R1())
        ca = _certificate("hyperpod-platform sandbox CA", ca_key.public_key(), None, ca_key, [], authority=True)
        key = ec.generate_private_key(ec.SECP256R1())
        names = [HOST, "localhost"]
        write_private(self.ca, _pem(ca))
        write_private(self.key, _key_pem(key))
        write_private(self.cert, _pem(_certificate("hyperpod-platform sandbox", key.public_key(), ca, ca_key, names)))
        write_private(self.service_account_key, _key_pem(ec.generate_private_key(ec.SECP256R1())))
        # Kueue's certificate rotator keeps what it finds in its Secret if that is as it would make it: RSA keys, a CA that
        # names itself `kueue-ca`, and a certificate for its Service; ours is valid for the loopback address as well.
        kueue_ca_key = rsa.generate_private_key(65537, 2048)
        kueue_ca = _certificate("kueue-ca", kueue_ca_key.public_key(), None, kueue_ca_key, ["kueue-ca"], authority=True)
        kueue_key = rsa.generate_private_key(65537, 2048)
        service = f"{KUEUE_SERVICE}.{KUEUE_NAMESPACE}.svc"
        kueue_cert = _certificate(service, kueue_key.public_key(), kueue_ca, kueue_ca_key, [service, *names])
        write_private(self.kueue / "ca.crt", _pem(kueue_ca))
        write_private(self.kueue / "ca.key", _key_pem(kueue_ca_key))
        write_private(self.kueue / "tls.crt", _pem(kueue_cert))
        write_private(self.kueue / "tls.key", _key_pem(kueue_key))
        write_private(self.tokens, "".join(_token_line(user, group) for user, group in USERS.values()))


def _token_line(user: str, group: str) -> str:
    row = [secrets.token_urlsafe(32), user, user]
    return ",".join([*row, group] if group else row) + "\n"


def _certificate(
    name: str,
    public_key: EllipticCurvePublicKey | RSAPublicKey,
    issuer: x509.Certificate | None,
    issuer_key: EllipticCurvePrivateKey | RSAPrivateKey,
    names: list[str],
    *,
    authority: bool = False,
) -> x509.Certificate:
    import ipaddress

    from cryptography import x509
    from cryptography.hazmat.primitives import hashes
    from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, name)])
    now = datetime.now(UTC)
    builder = (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer.subject if issuer else subject)
        .public_key(public_key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - timedelta(hours=1))
        .not_valid_after(now + timedelta(days=365 * _YEARS))
        .add_extension(x509.BasicConstraints(ca=authority, path_length=None), critical=True)
        .add_extension(
            x509.KeyUsage(
                digital_signature=True,
                key_encipherment=not authority,
                key_cert_sign=authority,
                crl_sign=authority,
                content_commitment=False,
                data_encipherment=False,
                key_agreement=False,
                encipher_only=False,
                decipher_only=False,
            ),
            critical=True,
        )
    )
    if not authority:
        # etcd and the API server also show their certificate as clients.
        both = [ExtendedKeyUsageOID.SERVER_AUTH, ExtendedKeyUsageOID.CLIENT_AUTH]
        builder = builder.add_extension(x509.ExtendedKeyUsage(both), critical=False)
    if names:
        shown = [x509.IPAddress(ipaddress.ip_address(n)) if n == HOST else x509.DNSName(n) for n in names]
        builder = builder.add_extension(x509.SubjectAlternativeName(shown), critical=False)
    return builder.sign(issuer_key, hashes.SHA256())


def _pem(certificate: x509.Certificate) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding

    return certificate.public_bytes(Encoding.PEM)


def _key_pem(key: EllipticCurvePrivateKey | RSAPrivateKey) -> bytes:
    from cryptography.hazmat.primitives.serialization import Encoding, NoEncryption, PrivateFormat

    return key.private_bytes(Encoding.PEM, PrivateFormat.TraditionalOpenSSL, NoEncryption())
