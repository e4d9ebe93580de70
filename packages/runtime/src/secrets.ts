import { DefinitionError } from "@proviso/core";
import { formsOf } from "./secrets/forms.ts";
import { piecesOf, type Pieces } from "./secrets/pieces.ts";
import { searchFor } from "./secrets/search.ts";
import { valueRedactor, type Redact } from "./secrets/values.ts";

/** Shorter keys are placeholders ("none", "ollama"): hiding them would garble every other word. */
const shortestSecret = 8;

/** Is this the text of a key, and no placeholder for one? */
export function isSecret(key: unknown): key is string {
  return typeof key === "string" && key.trim().length >= shortestSecret;
}

/** Secrets, and what hides them. */
export interface Secrets {
  /** The texts as they were given. */
  readonly texts: readonly string[];
  /** Redacts any value. */
  readonly redact: Redact;
  /** Redacts a text that arrives in pieces. */
  readonly pieces: () => Pieces;
}

/** undefined: there are none. @throws {DefinitionError} for a secret that is no text, or a blank one. */
export function openSecrets(given: readonly string[] = []): Secrets | undefined {
  if (!Array.isArray(given)) throw new DefinitionError("The option secrets must be a list of texts.");
  for (const secret of given) {
    if (typeof secret !== "string" || secret.trim() === "") {
      throw new DefinitionError("A secret must be a text, and not blank.");
    }
  }
  return given.length === 0 ? undefined : secretsOf([...given]);
}

const joined = /* @__PURE__ */ new WeakMap<Secrets, WeakMap<Secrets, Secrets>>();

/** The secrets of both; made once for the same two. */
export function joinSecrets(one: Secrets | undefined, other: Secrets | undefined): Secrets | undefined {
  if (one === undefined || other === undefined || one === other) return one ?? other;
  const more = other.texts.filter((text) => !one.texts.includes(text));
  if (more.length === 0) return one;
  let known = joined.get(one);
  if (known === undefined) joined.set(one, (known = new WeakMap()));
  let both = known.get(other);
  if (both === undefined) known.set(other, (both = secretsOf([...one.texts, ...more])));
  return both;
}

/** What it takes to look for them is made when it is needed first. */
function secretsOf(given: readonly string[]): Secrets {
  let made: Omit<Secrets, "texts"> | undefined;
  const make = (): Omit<Secrets, "texts"> => {
    const forms = formsOf(given);
    const isFound = searchFor(forms);
    const pieces = piecesOf(forms);
    const clean = (text: string): string => {
      if (!isFound(text)) return text;
      const whole = pieces();
      return whole.add(text) + whole.end();
    };
    return { pieces, redact: valueRedactor(clean, given.some(isNumeric)) };
  };
  return {
    texts: given,
    redact: (value) => (made ??= make()).redact(value),
    pieces: () => (made ??= make()).pieces(),
  };
}

function isNumeric(secret: string): boolean {
  return /^\s*-?\d+\s*$/.test(secret);
}
