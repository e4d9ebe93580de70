import { expect } from "vitest";
import { answered, apiKey, eventsOf, whyOf, type ConformanceCase } from "../kit.ts";
import { plain } from "../prompts.ts";
import type { ConformanceFault, ConformanceRefusal } from "../script.ts";

export function refusal(
  status: number,
  headers: Readonly<Record<string, string>> = {},
  code: string | null = null,
  message = `Refused with ${status}.`,
): ConformanceRefusal {
  return { status, headers, body: { error: { message, type: "error", param: null, code } } };
}

const hello = { text: "Hello." };
const date = "Thu, 01 Jan 2026 10:00:00 GMT";
const anHourLater = "Thu, 01 Jan 2026 11:00:00 GMT";

/** What is made of a refusal, and of a network that fails. */
export const failureCases: readonly ConformanceCase[] = [
  {
    title: "THR-1 a passing failure has its kind and is tried again, by the runtime alone",
    async run({ play }) {
      const kinds = [
        [429, "rate_limit"],
        [408, "timeout"],
        [409, "unknown"],
        [500, "server_error"],
        [502, "server_error"],
        [503, "server_error"],
        [529, "server_error"],
      ] as const;
      for (const [status, kind] of kinds) {
        const played = await play([refusal(status), hello], plain);
        expect(answered(played).output).toBe("Hello.");
        expect(eventsOf(played, "provider.throttled").map((event) => event.kind)).toEqual([kind]);
        expect(played.requests, `status ${status}`).toHaveLength(2);
      }
    },
  },
  {
    title: "THR-6 it gives up after five requests, with attempts and kind",
    async run({ play }) {
      const played = await play(
        Array.from({ length: 7 }, () => refusal(503)),
        plain,
      );
      expect(played.error).toMatchObject({ code: "throttled", kind: "server_error", attempts: 5 });
      expect(played.requests).toHaveLength(5);
      expect(eventsOf(played, "provider.throttled").at(-1)?.delayMs).toBeUndefined();
    },
  },
  {
    title: "THR-3 Retry-After is the floor: seconds, a fraction, milliseconds",
    async run({ play }) {
      const forms = [
        [{ "retry-after": "0.05" }, 50],
        [{ "retry-after-ms": "40" }, 40],
        [{ "retry-after": "0" }, 0],
      ] as const;
      for (const [headers, ms] of forms) {
        const played = await play([refusal(429, headers), hello], plain);
        const [throttled] = eventsOf(played, "provider.throttled");
        expect(throttled?.retryAfterMs).toBe(ms);
        expect(throttled?.delayMs).toBeGreaterThanOrEqual(ms);
        expect(answered(played).output).toBe("Hello.");
      }
    },
  },
  {
    title: "THR-3 Retry-After that is negative, past or unreadable is as if absent",
    async run({ play }) {
      for (const value of ["-5", "soon", "Thu, 01 Jan 2026 09:00:00 GMT"]) {
        const played = await play([refusal(429, { date, "retry-after": value }), hello], plain);
        expect(eventsOf(played, "provider.throttled")[0]?.retryAfterMs, value).toBeUndefined();
        expect(answered(played).output).toBe("Hello.");
      }
    },
  },
  {
    title: "THR-3 THR-4 a date is measured by the answer's own Date; a wait that is too long is not begun",
    async run({ play }) {
      const played = await play([refusal(429, { date, "retry-after": anHourLater }), hello], plain);
      expect(played.error).toMatchObject({ code: "throttled", retryAfterMs: 3_600_000, attempts: 1 });
      expect(played.requests).toHaveLength(1);
      const endless = await play([refusal(429, { "retry-after": "9".repeat(400) }), hello], plain);
      expect(endless.error).toMatchObject({ code: "throttled", attempts: 1 });
    },
  },
  {
    title: "THR-1 THR-6 what is not to be asked again is given up at once, with its kind and its status",
    async run({ play }) {
      const played = await play([refusal(429, { "x-should-retry": "false" }), hello], plain);
      expect(whyOf(played)).toBe("throttled: rate_limit");
      expect(played.error).toMatchObject({ status: 429, attempts: 1 });
      expect(played.requests).toHaveLength(1);
    },
  },
  {
    title: "THR-5 an exhausted quota has its own kind, and is not waited for",
    async run({ play }) {
      const played = await play([refusal(429, {}, "insufficient_quota"), hello], plain);
      expect(whyOf(played)).toBe("throttled: quota_exhausted");
      expect(played.requests).toHaveLength(1);
    },
  },
  {
    title: "THR-1 ERR-2 what does not pass is asked once, with its reason",
    async run({ play }) {
      const reasons = [
        [refusal(400), "bad_request"],
        [refusal(401), "api_key"],
        [refusal(403), "api_key"],
        [refusal(404), "not_found"],
        [refusal(413), "context_length"],
        [refusal(400, {}, "context_length_exceeded"), "context_length"],
        [refusal(422), "bad_request"],
        [refusal(501), "unknown"],
        [refusal(505), "unknown"],
      ] as const;
      for (const [step, reason] of reasons) {
        const played = await play([step, hello], plain);
        expect(whyOf(played)).toBe(`provider: ${reason}`);
        expect(played.error).toMatchObject({ status: step.status, phase: "request" });
        expect(played.requests, reason).toHaveLength(1);
      }
    },
  },
  {
    title: "THR-1 a connection that fails, or a body that is cut, is asked again",
    async run({ play }) {
      const faults = [
        "reset_before_headers",
        "reset_in_body",
        "cut_body",
      ] as const satisfies readonly ConformanceFault[];
      for (const fault of faults) {
        const played = await play([{ ...hello, fault }], plain);
        expect(whyOf(played), fault).toBe('answered: "Hello."');
        expect(eventsOf(played, "provider.throttled").map(({ kind }) => kind)).toEqual(["unknown"]);
        expect(played.requests, fault).toHaveLength(2);
      }
    },
  },
  {
    title: "LOOP-5 a body that is none of the API's is not asked again",
    async run({ play }) {
      for (const fault of ["html", "malformed_json"] as const) {
        const played = await play([{ ...hello, fault }], plain);
        expect(whyOf(played), fault).toBe("provider: invalid_response");
        expect(played.error, fault).toMatchObject({ phase: "response" });
        expect(played.requests, fault).toHaveLength(1);
      }
    },
  },
  {
    title: "SEC-1 a key that the service repeats is in no event and no error",
    async run({ play }) {
      const played = await play([refusal(401, {}, "invalid_api_key", `Incorrect API key provided: ${apiKey}.`)], plain);
      expect(whyOf(played)).toBe("provider: api_key");
      expect(played.error?.message).not.toContain(apiKey);
      expect(JSON.stringify(played.error?.providerPayload ?? "")).not.toContain(apiKey);
      const later = await play(
        Array.from({ length: 5 }, () => refusal(500, {}, null, `With ${apiKey} it failed.`)),
        plain,
      );
      expect(later.error?.message).not.toContain(apiKey);
    },
  },
];
