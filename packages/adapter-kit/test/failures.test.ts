import {
  modelFailureFrom,
  deepestMessage,
  errorObjectFailure,
  isNetworkError,
  networkFailure,
  isTimeoutError,
} from "@proviso/adapter-kit";
import { describe, expect, test } from "vitest";

describe("THR-1 OAI-10 a failure without a status", () => {
  test.each([
    [
      { code: "rate_limit_exceeded", type: "tokens" },
      { failure: "throttle", kind: "rate_limit" },
    ],
    [{ type: "overloaded_error" }, { failure: "throttle", kind: "server_error" }],
    [
      { code: null, type: "server_error" },
      { failure: "throttle", kind: "server_error" },
    ],
    [{ code: "quota_exceeded" }, { failure: "throttle", kind: "quota_exhausted" }],
    [{ code: "vector_store_timeout" }, { failure: "throttle", kind: "timeout" }],
    [
      { code: "context_length_exceeded", type: "server_error" },
      { failure: "provider", reason: "context_length" },
    ],
    [{ code: "content_filter" }, { failure: "provider", reason: "content_filter" }],
    [{ type: "authentication_error" }, { failure: "provider", reason: "api_key" }],
    [{ type: "not_found_error" }, { failure: "provider", reason: "not_found" }],
    [
      { code: 12, type: "constructor" },
      { failure: "provider", reason: "unknown" },
    ],
    [
      { code: 503, type: "constructor" },
      { failure: "throttle", kind: "server_error", status: 503 },
    ],
    [{ code: "402" }, { failure: "provider", reason: "bad_request", status: 402 }],
    [
      { code: 400, type: "rate_limit_error" },
      { failure: "throttle", kind: "rate_limit" },
    ],
  ])("THR-1 OAI-10 %j by its code, then by its type, then by its status", (told, expected) => {
    const error = { ...told, message: "No." };
    for (const payload of [error, { type: "error", error }, { type: "response.failed", response: { error } }]) {
      expect(errorObjectFailure(payload)).toEqual({ ...expected, message: "No.", payload });
    }
  });

  test.each([undefined, null, 7, [], {}])("THR-1 %o says nothing of its kind", (payload) => {
    const message = "The provider failed while it answered.";
    expect(errorObjectFailure(payload)).toEqual({ failure: "provider", reason: "unknown", message, payload });
  });

  test.each(["insufficient_quota", "billing_hard_limit_reached", "quota_exceeded"])(
    "THR-1 %s is an exhausted quota, with a status and without",
    (code) => {
      expect(modelFailureFrom({ status: 429, headers: new Headers() }, { error: { code } })).toMatchObject({
        kind: "quota_exhausted",
      });
      expect(errorObjectFailure({ error: { code } })).toMatchObject({ kind: "quota_exhausted" });
    },
  );
});

const failed = (code: string, cause?: unknown): Error => Object.assign(new Error(code, { cause }), { code });

describe("THR-1 AIS-18 what broke on the way, by name and code", () => {
  test.each(["ECONNREFUSED", "EAI_AGAIN", "UND_ERR_SOCKET", "Z_BUF_ERROR", "ETIMEDOUT"])(
    "THR-1 AIS-18 %s, however deep, is the network's",
    (code) => {
      expect(isNetworkError(failed(code))).toBe(true);
      expect(isNetworkError(new Error("outer", { cause: new AggregateError([failed(code)]) }))).toBe(true);
    },
  );

  test.each([
    "fetch failed",
    "terminated",
    "Failed to fetch",
    "network error",
    "NetworkError when attempting to fetch resource.",
    "Error in input stream",
    "Load failed",
    "error sending request for url (http://127.0.0.1/): client error (SendRequest): connection closed",
    "error reading a body from connection",
  ])("THR-1 AIS-18 a fetch without codes that says %j has met the network", (words) => {
    expect(isNetworkError(new Error("outer", { cause: new TypeError(words) }))).toBe(true);
    expect(isNetworkError(new Error(words))).toBe(false);
    expect(networkFailure(new TypeError(words))).toMatchObject({ failure: "throttle", kind: "unknown" });
  });

  test("THR-1 AIS-18 workers say it in plain errors", () => {
    for (const words of ["Network connection lost.", "internal error; reference = 0a1b2c"]) {
      expect(isNetworkError(new Error(words))).toBe(true);
    }
    expect(isNetworkError(new Error("internal error"))).toBe(false);
  });

  test.each([
    [
      "error sending request for url (http://127.0.0.1:1/): client error (Connect): tcp connect error: refused",
      undefined,
    ],
    ["Fetch failed: Requests to port 6000 are blocked", false],
  ])("THR-1 AIS-18 Deno's %j says that no server could be reached", (words, retry) => {
    const failure = networkFailure(new TypeError("fetch failed", { cause: new Error(words) }));
    expect(failure).toMatchObject({ failure: "throttle", kind: "network" });
    expect("retry" in failure ? failure.retry : undefined).toBe(retry);
  });

  test.each([
    failed("rate_limit_exceeded"),
    failed("ENOENT"),
    failed("EACCES"),
    new TypeError("x is not a function"),
    "ECONNRESET",
    null,
  ])("THR-1 AIS-18 %o is none of it", (error) => {
    expect(isNetworkError(error)).toBe(false);
    expect(isTimeoutError(error)).toBe(false);
  });

  test("THR-1 AIS-18 a timeout has a code, or is called so", () => {
    for (const code of ["ETIMEDOUT", "UND_ERR_BODY_TIMEOUT"])
      expect(isTimeoutError(failed("", failed(code)))).toBe(true);
    expect(isTimeoutError(new DOMException("late", "TimeoutError"))).toBe(true);
    expect(isTimeoutError(failed("ECONNRESET"))).toBe(false);
  });

  test("AIS-18 the innermost message says most; a circle ends", () => {
    expect(deepestMessage(new Error("Connection error.", { cause: new Error("connect ECONNREFUSED") }))).toBe(
      "connect ECONNREFUSED",
    );
    expect(deepestMessage(new Error("outer", { cause: new Error("") }))).toBe("outer");
    expect(deepestMessage("broken")).toBe("broken");
    expect(deepestMessage({})).toBe("The request failed.");
    const circle = new Error("round");
    circle.cause = circle;
    expect(deepestMessage(circle)).toBe("round");
  });
});
