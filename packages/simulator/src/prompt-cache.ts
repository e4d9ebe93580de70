import { createHash } from "node:crypto";

/** A piece of a prompt, in the order in which the service reads it. */
export interface PromptBlock {
  /** What was sent, without its mark. */
  readonly text: string;
  readonly tokens: number;
  /** Milliseconds that the prompt up to this block is kept. undefined: it is not marked. */
  readonly keepMs?: number | undefined;
}

/** The tokens of one prompt by what the cache did with them. */
export interface CacheCounts {
  /** Neither read nor written. */
  readonly plain: number;
  readonly read: number;
  /** Written to be kept five minutes. */
  readonly written5m: number;
  /** Written to be kept an hour. */
  readonly written1h: number;
}

/** The prompts that were sent before, by their beginnings. */
export interface PromptCache {
  /** Reads what is kept, and keeps what is marked. @param now milliseconds since 1970. */
  marked(scope: string, blocks: readonly PromptBlock[], now: number): CacheCounts;
  /** Reads and keeps every prompt, as a service does that needs no marks. */
  implicit(scope: string, blocks: readonly PromptBlock[], now: number): CacheCounts;
}

/** A beginning with fewer tokens is not kept. Source: Anthropic, "Prompt caching"; Gemini API, "Context caching". */
const leastCachedTokens = 1_024;
/** How far before a mark the service looks for a beginning that it has kept. Source: Anthropic, "Prompt caching". */
const lookBack = 20;
export const keptMs = { "5m": 300_000, "1h": 3_600_000 } as const;
/** Beginnings that are remembered; the oldest are forgotten. */
const mostKept = 20_000;

interface Kept {
  until: number;
  readonly keepMs: number;
}

interface Beginning {
  readonly key: string;
  readonly tokens: number;
  readonly keepMs: number | undefined;
}

export function promptCache(): PromptCache {
  const kept = new Map<string, Kept>();

  /** Whether a beginning is kept. One that is read lives as long again. */
  function isKept(key: string, now: number): boolean {
    const found = kept.get(key);
    if (found === undefined || found.until < now) return false;
    found.until = now + found.keepMs;
    return true;
  }

  function keep(key: string, keepMs: number, now: number): void {
    kept.delete(key);
    kept.set(key, { keepMs, until: now + keepMs });
    const [oldest] = kept.size > mostKept ? kept.keys() : [];
    if (oldest !== undefined) kept.delete(oldest);
  }

  function found(beginnings: readonly Beginning[], ends: readonly number[], now: number): number {
    for (const end of ends.toReversed()) {
      for (let at = end; at >= Math.max(0, end - lookBack); at--) {
        const { key, tokens } = beginnings[at] as Beginning;
        if (tokens >= leastCachedTokens && isKept(key, now)) return tokens;
      }
    }
    return 0;
  }

  return {
    marked(scope, blocks, now) {
      const beginnings = beginningsOf(scope, blocks);
      const marks = beginnings.flatMap(({ keepMs }, at) => (keepMs === undefined ? [] : [at]));
      const read = found(beginnings, marks, now);
      const written = { "5m": 0, "1h": 0 };
      let before = read;
      for (const at of marks) {
        const { key, tokens, keepMs = keptMs["5m"] } = beginnings[at] as Beginning;
        if (tokens < leastCachedTokens || tokens <= before) continue;
        keep(key, keepMs, now);
        written[keepMs === keptMs["1h"] ? "1h" : "5m"] += tokens - before;
        before = tokens;
      }
      const all = beginnings.at(-1)?.tokens ?? 0;
      return { plain: all - before, read, written5m: written["5m"], written1h: written["1h"] };
    },
    implicit(scope, blocks, now) {
      const beginnings = beginningsOf(scope, blocks);
      const longest = beginnings.findLast(({ key, tokens }) => tokens >= leastCachedTokens && isKept(key, now));
      for (const { key, tokens } of beginnings) if (tokens >= leastCachedTokens) keep(key, keptMs["5m"], now);
      const read = longest?.tokens ?? 0;
      return { plain: (beginnings.at(-1)?.tokens ?? 0) - read, read, written5m: 0, written1h: 0 };
    },
  };
}

/** Each block's beginning is all up to its end: its hash goes over the hash of the block before. */
function beginningsOf(scope: string, blocks: readonly PromptBlock[]): readonly Beginning[] {
  let key = scope;
  let tokens = 0;
  return blocks.map((block) => {
    key = createHash("sha256").update(`${key}\n${block.text}`).digest("base64url");
    tokens += block.tokens;
    return { key, tokens, keepMs: block.keepMs };
  });
}
