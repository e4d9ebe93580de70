import { describe, expect, test } from "vitest";
import {
  AbortedError,
  BudgetExceededError,
  DeadlineExceededError,
  DefinitionError,
  errorReason,
  FilesystemError,
  isEvaluationFailure,
  ListenerError,
  NotSupportedError,
  OutputParseError,
  ProcessError,
  PromptEvaluationError,
  OptionError,
  PromptRenderError,
  ProviderError,
  ProvisoError,
  RevokedError,
  ThrottleError,
  TurnLimitError,
  VisibilityExpansionRequired,
  type ErrorReason,
  type EvaluationFailure,
  type ProviderErrorReason,
  type ThrottleKind,
} from "@proviso/core";
import { noUsage } from "@proviso/core/internal";

const cause = new Error("why");
const details = {
  phase: "request",
  promptName: "a/b",
  providerPayload: { raw: 1 },
  usage: { ...noUsage, totalTokens: 3 },
  messages: [{ role: "user", text: "x" }],
  toolResults: [],
  cause,
} as const;
const throttled = (kind: ThrottleKind) => new ThrottleError("m", { ...details, kind, retryAfterMs: 7, attempts: 2 });
const provider = (reason: ProviderErrorReason) => new ProviderError("m", { ...details, reason, status: 400 });

const failures: readonly [EvaluationFailure, EvaluationFailure["code"], ErrorReason][] = [
  [new OptionError("m", { ...details, option: "budget" }), "option", "option_error"],
  [new PromptRenderError("m", details), "render", "render_error"],
  [new OutputParseError("m", { ...details, rawText: "{", issues: [] }), "output", "schema_error"],
  [new DeadlineExceededError("m", { ...details, expiresAt: new Date(0) }), "deadline", "deadline_error"],
  [
    new BudgetExceededError("m", { ...details, dimension: "cost", limit: 1, spent: 2, reserved: 0, wanted: undefined }),
    "budget",
    "budget_error",
  ],
  [new TurnLimitError("m", details), "turns", "turn_limit_error"],
  [new AbortedError("m", details), "aborted", "aborted_error"],
  [new ListenerError("m", { ...details, errors: [cause], response: {} as never }), "listener", "listener_error"],
  [new ProcessError("m", { ...details, exitCode: 1, signal: null, stderr: "" }), "process", "process_error"],
  [throttled("rate_limit"), "throttled", "rate_limit_error"],
  [throttled("quota_exhausted"), "throttled", "quota_error"],
  [throttled("timeout"), "throttled", "timeout_error"],
  [throttled("server_error"), "throttled", "server_error"],
  [throttled("network"), "throttled", "network_error"],
  [throttled("unknown"), "throttled", "unknown_error"],
  [provider("api_key"), "provider", "api_key_error"],
  [provider("context_length"), "provider", "context_length_error"],
  [provider("not_found"), "provider", "not_found_error"],
  [provider("bad_request"), "provider", "bad_request_error"],
  [provider("content_filter"), "provider", "content_filter_error"],
  [provider("refusal"), "provider", "refusal_error"],
  [provider("truncated"), "provider", "truncated_error"],
  [provider("invalid_response"), "provider", "invalid_response_error"],
  [provider("unknown"), "provider", "unknown_error"],
];
const others = [
  new DefinitionError("x"),
  new NotSupportedError("X"),
  new RevokedError("x"),
  new FilesystemError("x", { reason: "not_found", path: "a" }),
  new VisibilityExpansionRequired({ s: "full" }, "why"),
];

describe("ERR-1 what evaluate rejects with", () => {
  test.each(failures)(
    "ERR-1 %s carries code, phase, prompt name, cause, usage, messages and tool results",
    (error, code) => {
      expect(error).toBeInstanceOf(PromptEvaluationError);
      expect(error).toBeInstanceOf(ProvisoError);
      expect(error).toMatchObject({ ...details, code, message: "m" });
      expect(error.cause).toBe(cause);
      expect(error.name).toBe(error.constructor.name);
      expect(isEvaluationFailure(error)).toBe(true);
    },
  );

  test("ERR-1 an error without a cause has none", () => {
    const { cause: _, ...rest } = details;
    expect("cause" in new AbortedError("m", rest)).toBe(false);
  });

  test("ERR-1 errors carry the fields that callers branch on", () => {
    expect(throttled("timeout")).toMatchObject({ kind: "timeout", retryAfterMs: 7, attempts: 2 });
    expect(provider("refusal")).toMatchObject({ reason: "refusal", status: 400 });
    expect(others[3]).toMatchObject({ code: "filesystem", reason: "not_found", path: "a" });
    expect(others[4]).toMatchObject({ code: "visibility", requested: { s: "full" }, reason: "why" });
  });

  test.each([...others, new Error("x"), { code: "render" }, null, undefined])(
    "ERR-1 %s is no evaluation failure",
    (error) => {
      expect(isEvaluationFailure(error)).toBe(false);
    },
  );
});

describe("ERR-2 errorReason", () => {
  test.each(failures)("ERR-2 %s of code %s is %s", (error, _code, reason) => {
    expect(errorReason(error)).toBe(reason);
  });

  test.each([...others, new Error("x"), { code: "render" }, null, undefined])("ERR-2 %s has no reason", (error) => {
    expect(errorReason(error)).toBeUndefined();
  });
});
