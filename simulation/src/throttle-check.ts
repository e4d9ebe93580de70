import type { FrameworkEvent, ProviderThrottled } from "@proviso/core";
import type { Book } from "./checks.ts";
import type { Watched } from "./registry.ts";

/** THR-2 to THR-5, worked out again from the policy, the randomness that was drawn and the events. */
export function checkThrottle(book: Book, watched: Watched, event: FrameworkEvent): void {
  const { waits } = watched;
  if (event.type === "provider.requested") {
    const { until } = waits;
    if (event.attempt === 1) {
      Object.assign(waits, { total: 0, until: undefined });
      return;
    }
    book.demand(until !== undefined, `THR-4 attempt ${event.attempt} comes without a wait`);
    const late = event.at - (until ?? event.at);
    // On a budget that others share it may have to wait for them, too (LIM-5).
    const mayWait = watched.trackers.length > 0 || watched.hasHiddenBudget;
    const isInTime = late > -1e-6 && (mayWait || late < 1e-6);
    book.demand(isInTime, `THR-3 asked again ${late} ms after the wait's end`);
  }
  if (event.type === "provider.throttled") checkWait(book, watched, event);
}

function checkWait(
  book: Book,
  { throttle: policy, waits, deadlines, drawn, intent, abortedAt, mayBeAborted }: Watched,
  { attempt, kind, delayMs, retryAfterMs, at }: ProviderThrottled,
): void {
  book.demand(intent?.kind === "throttle", `THR-1 ${kind} after an answer that was no refusal`);
  const asked = retryAfterMs ?? 0;
  const floor = kind === "quota_exhausted" ? Math.max(asked, policy.quotaDelayMs) : asked;
  const leftMs = Math.min(Infinity, ...deadlines.map((deadline) => deadline.remainingMs()));
  const totalMs = policy.maxTotalDelayMs - waits.total;
  const shares = drawn();
  waits.until = undefined;
  const isAborted = abortedAt() !== undefined || (mayBeAborted() && delayMs === undefined);
  if (attempt >= policy.maxAttempts || floor > totalMs || totalMs <= 0 || floor >= leftMs || isAborted) {
    const why = `floor ${floor}, total ${totalMs}, left ${leftMs}, attempt ${attempt} of ${policy.maxAttempts}`;
    book.demand(delayMs === undefined, `THR-4 a wait of ${delayMs} ms was begun that could not be (${why})`);
    return;
  }
  const cap = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
  const [share = Number.NaN] = shares;
  const wanted = floor + share * Math.min(cap, totalMs - floor, (leftMs - floor) / 2);
  const about = `attempt ${attempt}, floor ${floor}, cap ${cap}, total ${totalMs}, left ${leftMs}`;
  book.demand(shares.length === 1, `THR-2 ${shares.length} numbers were drawn for one wait (${about})`);
  book.demand(delayMs !== undefined, `THR-4 a wait that fits was not begun (${about})`);
  if (delayMs === undefined) return;
  book.demand(Math.abs(wanted - delayMs) < 1e-6, `THR-2 a wait of ${delayMs} ms instead of ${wanted} (${about})`);
  const fits = delayMs >= floor && delayMs <= totalMs && delayMs < leftMs;
  book.demand(fits, `THR-3 a wait of ${delayMs} ms (${about})`);
  waits.total += delayMs;
  waits.until = at + delayMs;
}
