import type { FrameworkEvent, ProviderThrottled, ThrottlePolicy } from "@proviso/core";
import type { Book } from "./checks.ts";

/** THR-2 to THR-4, worked out again from the policy, the randomness that was drawn and the events. */
export function throttleCheck(
  book: Book,
  policy: ThrottlePolicy,
  /** The numbers drawn last. */
  drawn: () => readonly number[],
  leftMs: () => number,
): (event: FrameworkEvent) => void {
  const waits = new Map<string, { total: number; until: number | undefined }>();
  return (event) => {
    const key = event.evaluationId;
    if (event.type === "provider.requested") {
      const wait = waits.get(key);
      book.demand(wait?.until === undefined || event.at >= wait.until, "THR-3 asked again before the wait was over");
      if (event.attempt === 1) waits.set(key, { total: 0, until: undefined });
    }
    if (event.type === "provider.throttled") check(event, waits.get(key) ?? { total: 0, until: undefined });
  };

  function check(
    { attempt, kind, delayMs, retryAfterMs, at }: ProviderThrottled,
    wait: { total: number; until: number | undefined },
  ): void {
    const asked = retryAfterMs ?? 0;
    const floor = kind === "quota_exhausted" ? Math.max(asked, policy.quotaDelayMs) : asked;
    const room = Math.min(policy.maxTotalDelayMs - wait.total, leftMs());
    if (attempt >= policy.maxAttempts || floor > room || room <= 0) {
      book.demand(
        delayMs === undefined,
        `THR-4 a wait of ${delayMs} ms was begun that could not be (floor ${floor}, room ${room})`,
      );
      return;
    }
    const cap = Math.min(policy.maxDelayMs, policy.baseDelayMs * 2 ** (attempt - 1));
    const wanted = drawn().map((share) => Math.min(floor + share * cap, room));
    book.demand(
      delayMs !== undefined && wanted.some((ms) => Math.abs(ms - delayMs) < 1e-6),
      `THR-2 a wait of ${delayMs} ms after attempt ${attempt} (floor ${floor}, cap ${cap}, room ${room})`,
    );
    wait.total += delayMs ?? 0;
    wait.until = at + (delayMs ?? 0);
  }
}
