/** Certificates for servers of tests, and the authority that signed them. */
import { generate } from "selfsigned";

export interface Certificate {
  cert: string;
  key: string;
}

const name = (value: string) => [{ name: "commonName", value }];
const day = 86_400_000;

/** An authority of our own; who trusts it trusts what it signs. */
export async function newAuthority(): Promise<Certificate> {
  const { cert, private: key } = await generate(name("Test authority"), {
    keyType: "ec",
    algorithm: "sha256",
    extensions: [
      { name: "basicConstraints", cA: true, critical: true },
      { name: "keyUsage", keyCertSign: true, cRLSign: true, critical: true },
    ],
  });
  return { cert, key };
}

/** A certificate for a host, signed by the authority; `ended` yesterday when asked. */
export async function newCertificate(
  host: string,
  authority: Certificate,
  { ended = false } = {},
): Promise<Certificate> {
  const { cert, private: key } = await generate(name(host), {
    keyType: "ec",
    algorithm: "sha256",
    ca: authority,
    notBeforeDate: new Date(Date.now() - 10 * day),
    notAfterDate: new Date(Date.now() + (ended ? -day : 10 * day)),
    extensions: [
      { name: "basicConstraints", cA: false },
      { name: "subjectAltName", altNames: [{ type: 2, value: host }] },
    ],
  });
  return { cert, key };
}
