// Hashes of what a request holds: they show that it is not what was recorded, where the record has no text of it.
import type { Message, ModelRequest } from "@proviso/core";
import { canonicalJson } from "@proviso/core/internal";

/** What a hash is made of, without secrets. */
type Hide = (text: string) => string;

/** 53 bits of a text, in base 36; two lanes of multiplications, mixed at the end. It withstands mistakes, not attacks. */
export function textHash(text: string): string {
  // Signed as all that follows: V8 keeps what also fits no small integer in an object, at each letter.
  let a = 0x9e3779b9 | 0;
  let b = 0x85ebca6b | 0;
  for (let index = 0; index < text.length; index++) {
    const unit = text.charCodeAt(index);
    a = Math.imul(a ^ unit, 0x01000193);
    b = Math.imul(b ^ unit, 0x5bd1e995) ^ (b >>> 15);
  }
  a = Math.imul(a ^ (a >>> 16), 0x7feb352d) ^ (b >>> 13);
  b = Math.imul(b ^ (b >>> 15), 0x846ca68b) ^ (a >>> 16);
  return ((a >>> 0) * 0x200000 + ((b >>> 0) >>> 11)).toString(36);
}

/**
 * The hash of a message: of its role and text, calls and files, and of nothing that a provider alone knows. `idOf`: the id
 * of a call as it counts.
 */
export function messageHash(message: Message, hide: Hide | undefined, idOf: (id: string) => string): string {
  const parts: string[] = [message.role, message.text];
  if (message.role === "assistant") {
    for (const { id, name, arguments: given } of message.toolCalls) parts.push(idOf(id), name, given);
  }
  if (message.role === "tool") parts.push(idOf(message.callId), message.name, String(message.isError));
  for (const { at, file } of message.files ?? [])
    parts.push(String(at), "hash" in file ? String(file.hash) : canonicalJson(file));
  const text = parts.join("\u0000");
  return textHash(hide === undefined ? text : hide(text));
}

/** The hashes of what many requests share, as it is without secrets. */
const sharedHashes = new WeakMap<object, string>();

/** The hash of the tools, of the choice and of the output of a request. */
export function restHashes(
  { tools, toolChoice, output }: Pick<ModelRequest, "tools" | "toolChoice" | "output">,
  hide: Hide | undefined,
): readonly string[] {
  return [tools, toolChoice ?? null, output ?? null].map((part) => partHash(part, hide));
}

function partHash(part: unknown, hide: Hide | undefined): string {
  if (part === null) return hashOfNull;
  const isShared = hide === undefined && typeof part === "object" && Object.isFrozen(part);
  const known = isShared ? sharedHashes.get(part) : undefined;
  if (known !== undefined) return known;
  const json = canonicalJson(part);
  const hash = textHash(hide === undefined ? json : hide(json));
  if (isShared) sharedHashes.set(part, hash);
  return hash;
}

const hashOfNull = /* @__PURE__ */ textHash("null");

/** The names of what `restHashes` returns, in its order. */
export const restNames = ["tools", "toolChoice", "output"] as const;
