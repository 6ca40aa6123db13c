import { generateKeyPairSync, type KeyObject, sign } from "node:crypto";

/** A certificate with its key, both in PEM. */
export interface Certificate {
  readonly cert: string;
  readonly key: string;
}

/** An authority that only a client with its certificate trusts. */
export interface Authority {
  /** Its own certificate, in PEM. */
  readonly cert: string;
  /** A certificate for names and IPv4 addresses. */
  issue(names: readonly string[], valid?: Validity): Certificate;
}

type Validity = "now" | "until 2021";

const DATES: Readonly<Record<Validity, readonly [string, string]>> = {
  now: ["200101000000Z", "491231235959Z"],
  "until 2021": ["200101000000Z", "210101000000Z"],
};

/** Makes an authority with a key of its own, without any program but this one: X.509 (RFC 5280) by hand. */
export function createAuthority(): Authority {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const issuer = "Test authority";
  let serial = 1;
  const make = (subject: string, key: KeyObject, extension: Buffer, valid: Validity = "now"): string => {
    const body = sequence(
      tagged(0xa0, integer(2)),
      integer((serial += 1)),
      ECDSA_SHA256,
      nameOf(issuer),
      sequence(...DATES[valid].map((date) => tagged(0x17, Buffer.from(date)))),
      nameOf(subject),
      key.export({ type: "spki", format: "der" }),
      tagged(0xa3, sequence(extension)),
    );
    const signature = sign("sha256", body, privateKey);
    return pem(sequence(body, ECDSA_SHA256, tagged(0x03, Buffer.concat([Buffer.of(0), signature]))));
  };
  // basicConstraints: CA
  const isAuthority = sequence(oid("551d13"), tagged(0x04, sequence(tagged(0x01, Buffer.of(0xff)))));
  return {
    cert: make(issuer, publicKey, isAuthority),
    issue(names, valid) {
      const pair = generateKeyPairSync("ec", { namedCurve: "P-256" });
      const subject = names[0] ?? "nobody";
      const alternatives = names.map((name) =>
        /^[\d.]+$/.test(name)
          ? tagged(0x87, Buffer.from(name.split(".").map(Number)))
          : tagged(0x82, Buffer.from(name)),
      );
      // subjectAltName
      const extension = sequence(oid("551d11"), tagged(0x04, sequence(...alternatives)));
      return {
        cert: make(subject, pair.publicKey, extension, valid),
        key: pair.privateKey.export({ type: "pkcs8", format: "pem" }),
      };
    },
  };
}

const ECDSA_SHA256 = sequence(oid("2a8648ce3d040302"));

function nameOf(commonName: string): Buffer {
  return sequence(tagged(0x31, sequence(oid("550403"), tagged(0x0c, Buffer.from(commonName)))));
}

function sequence(...parts: readonly Buffer[]): Buffer {
  return tagged(0x30, Buffer.concat(parts));
}

function integer(value: number): Buffer {
  return tagged(0x02, Buffer.of(value));
}

function oid(hex: string): Buffer {
  return tagged(0x06, Buffer.from(hex, "hex"));
}

/** A value in DER: its tag, its length, itself. */
function tagged(tag: number, content: Buffer): Buffer {
  const { length } = content;
  const long = Buffer.of(0x82, length >> 8, length & 255);
  const size = length < 128 ? Buffer.of(length) : length < 256 ? Buffer.of(0x81, length) : long;
  return Buffer.concat([Buffer.of(tag), size, content]);
}

function pem(der: Buffer): string {
  const lines = der.toString("base64").match(/.{1,64}/g) ?? [];
  return `-----BEGIN CERTIFICATE-----\n${lines.join("\n")}\n-----END CERTIFICATE-----\n`;
}
