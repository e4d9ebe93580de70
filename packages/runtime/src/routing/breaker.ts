// 1. Closed: every request may go. Open: none, until a time. Then one request tries, and its end decides.
// 2. Only the clock that is given says what time it is, so a seeded run repeats.
import { DefinitionError, type ThrottleKind } from "@proviso/core";
import { describeValue } from "@proviso/core/internal";
import { checkOptionNames, isRecord } from "@proviso/core/provider";

/** When a member of a chain is passed over. */
export interface BreakerOptions {
  /** Failures in a row that open it. Default 5. */
  readonly failures?: number | undefined;
  /** Milliseconds that it stays open. Default 30,000. */
  readonly openMs?: number | undefined;
}

/** What a request that is over says of its service. */
export type ServiceState =
  | { readonly state: "well" | "unknown" }
  | { readonly state: "failed"; readonly kind: ThrottleKind; readonly retryAfterMs?: number | undefined };

/** A Retry-After opens it for so many milliseconds at most: one slip of a service must not close it for the process's life. */
const longestMs = 3_600_000;

/** A timer may ring so much before its time: milliseconds. */
const earlyMs = 2;

/** Remembers that a service fails, so that it is not asked for a while. */
export class Breaker {
  readonly #failuresToOpen: number;
  readonly #openMs: number;
  #failures = 0;
  /** undefined: closed. */
  #openUntil: number | undefined;
  #isTrying = false;
  #now = -Infinity;
  /** What the service failed with last. */
  kind: ThrottleKind = "unknown";

  constructor({ failures = 5, openMs = 30_000 }: BreakerOptions) {
    this.#failuresToOpen = failures;
    this.#openMs = openMs;
  }

  /** Milliseconds until one request may try; 0 also while one does. */
  waitMs(now: number): number {
    this.#see(now);
    const left = (this.#openUntil ?? now) - now;
    return left <= earlyMs ? 0 : left;
  }

  /** Whether a request tries, on which the others depend. */
  get isTrying(): boolean {
    return this.#isTrying;
  }

  mayAsk(now: number): boolean {
    return this.waitMs(now) === 0 && !this.#isTrying;
  }

  /** A request is sent; the function that is returned is called once, when the request is over. */
  begin(): (now: number, service: ServiceState) => void {
    const isTry = this.#openUntil !== undefined;
    if (isTry) this.#isTrying = true;
    return (now, service) => {
      if (isTry) this.#isTrying = false;
      if (service.state === "failed") this.#failed(now, service);
      if (service.state === "well") {
        this.#failures = 0;
        // An answer to a request that was sent before it opened does not close it.
        if (isTry) this.#openUntil = undefined;
      }
    };
  }

  /** A clock that was set back does not keep it open longer. */
  #see(now: number): void {
    if (now < this.#now && this.#openUntil !== undefined) this.#openUntil -= this.#now - now;
    this.#now = now;
  }

  #failed(now: number, { kind, retryAfterMs = 0 }: Extract<ServiceState, { state: "failed" }>): void {
    this.#see(now);
    this.kind = kind;
    this.#failures += 1;
    const openMs = Math.max(
      Math.min(retryAfterMs, longestMs),
      this.#failures >= this.#failuresToOpen ? this.#openMs : 0,
    );
    if (openMs > 0) this.#openUntil = Math.max(this.#openUntil ?? -Infinity, now + openMs);
    else if (this.waitMs(now) === 0) this.#openUntil = undefined;
  }
}

/** @throws {DefinitionError} for a breaker that cannot be. */
export function checkBreaker(breaker: unknown): void {
  if (breaker === undefined || breaker === false) return;
  if (!isRecord(breaker)) {
    throw new DefinitionError(`fallback: breaker must be false or an object, not ${describeValue(breaker)}.`);
  }
  checkOptionNames("The option breaker", breaker, { failures: true, openMs: true });
  const { failures = 1, openMs = 1 } = breaker;
  if (!Number.isSafeInteger(failures) || (failures as number) < 1) {
    throw new DefinitionError(`breaker.failures must be a whole number from 1, not ${describeValue(failures)}.`);
  }
  if (!(typeof openMs === "number" && openMs > 0 && Number.isFinite(openMs))) {
    throw new DefinitionError(`breaker.openMs must be a positive number, not ${describeValue(openMs)}.`);
  }
}

/** undefined for false: the adapter is always asked. */
export function newBreaker(options: false | BreakerOptions | undefined): Breaker | undefined {
  return options === false ? undefined : new Breaker(options ?? {});
}
