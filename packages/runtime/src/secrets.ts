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

/** What it takes to look for them is made when it is needed first. */
function secretsOf(given: readonly string[]): Secrets {
  let made: Secrets | undefined;
  const make = (): Secrets => {
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
    redact: (value) => (made ??= make()).redact(value),
    pieces: () => (made ??= make()).pieces(),
  };
}

function isNumeric(secret: string): boolean {
  return /^\s*-?\d+\s*$/.test(secret);
}
