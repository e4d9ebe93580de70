import { sha256 as portableSha256 } from "@noble/hashes/sha2.js";
import { bytesToHex, utf8ToBytes } from "@noble/hashes/utils.js";
import { hostModule } from "./host-module.ts";

type Encoding = "hex" | "base64url";

/** What hashes bytes, or a text in UTF-8. */
export type Sha256 = (content: string | Uint8Array, encoding: Encoding) => string;

interface HostCrypto {
  hash(algorithm: string, content: string | Uint8Array, encoding: Encoding): string;
}

/** Returns the host's own SHA-256, which takes an eighth of the time; undefined where it has none. */
export function hostSha256(): Sha256 | undefined {
  const hash = hostModule<HostCrypto>("node:crypto")?.hash;
  return hash && ((content, encoding) => hash("sha256", content, encoding));
}

/** SHA-256 where the host has none. */
export function ownSha256(content: string | Uint8Array, encoding: Encoding): string {
  const bytes = portableSha256(typeof content === "string" ? utf8ToBytes(content) : content);
  if (encoding === "hex") return bytesToHex(bytes);
  return btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replaceAll("=", "");
}

/** Returns the SHA-256 of bytes, or of a text in UTF-8, where half of a surrogate pair counts as U+FFFD. */
export const sha256: Sha256 = /* @__PURE__ */ hostSha256() ?? ownSha256;
