// What a cut leaves of a secret is found by no search: a text is cut before a secret or after it, never inside one.
/** The side of a secret that a cut moves to. */
export type Side = "before" | "after";

/** Secrets that a cut goes beside. */
export interface UncutSecrets {
  /** Where a text can be cut instead, so that the cut goes through no secret. */
  beside(text: string, at: number, side: Side): number;
}

/** Returns the place, or the nearest one on that side which is inside no form. */
export function placeBeside(forms: readonly string[], text: string, at: number, side: Side): number {
  let place = at;
  for (let isMoved = true; isMoved;) {
    isMoved = false;
    for (const form of forms) {
      const from = Math.max(0, place - form.length + 1);
      const around = text.slice(from, place + form.length - 1);
      const found = side === "before" ? around.indexOf(form) : around.lastIndexOf(form);
      if (found === -1) continue;
      place = from + found + (side === "before" ? 0 : form.length);
      isMoved = true;
    }
  }
  return place;
}

/** The beginning of a text: at most so many UTF-16 units, and no part of a secret. The secrets in it are still there. */
export function beginningOf(text: string, most: number, secrets: UncutSecrets | undefined): string {
  if (text.length <= most) return text;
  return text.slice(0, secrets?.beside(text, most, "before") ?? most);
}

/** The end of a text: at most so many UTF-16 units, and no part of a secret. The secrets in it are still there. */
export function endOf(text: string, most: number, secrets: UncutSecrets | undefined): string {
  const at = text.length - most;
  return at <= 0 ? text : text.slice(secrets?.beside(text, at, "after") ?? at);
}
