import type { AttemptRecord } from "../results.ts";

/** Attempts of a variant that fail alike before the run is ended. */
const systemicFailures = 5;
const systemicReasons = new Set(["api_key_error", "not_found_error", "bad_request_error", "render_error"]);

/** Finds out that nothing can work: the first attempts of a variant all fail for the same reason. */
export class SystemicFailures {
  readonly #reasons = new Map<string, string[]>();

  /** Adds an attempt that was made now. Returns why the run ends; undefined: it goes on. */
  add({ variant, failure }: AttemptRecord): string | undefined {
    const reasons = this.#reasons.get(variant) ?? [];
    if (reasons.length >= systemicFailures) return undefined;
    reasons.push(failure?.reason ?? "");
    this.#reasons.set(variant, reasons);
    const [first = ""] = reasons;
    if (reasons.length < systemicFailures || !systemicReasons.has(first)) return undefined;
    if (reasons.some((reason) => reason !== first)) return undefined;
    return `The first ${systemicFailures} attempts of "${variant}" failed with ${first}: ${failure?.message ?? ""}`;
  }
}
