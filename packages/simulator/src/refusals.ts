import type { HttpStep } from "./types.ts";

const tooMany = "Rate limit reached for requests. Limit: 3 / min.";

/** What a "status" fault answers with. @param now milliseconds since 1970. */
export function refusalOf(name: string, now: number): HttpStep {
  const status = /^status_(\d+)$/.exec(name)?.[1];
  if (status !== undefined) return statusOf(Number(status));
  switch (name) {
    case "retry_after_seconds":
      return limited({ "retry-after": "1" });
    case "retry_after_fraction":
      return limited({ "retry-after": "0.5" });
    case "retry_after_date":
      return limited(datedHeaders(now, 0));
    case "retry_after_skewed_date":
      return limited(datedHeaders(now, 3_600_000));
    case "retry_after_ms":
      return limited({ "retry-after-ms": "50" });
    case "retry_after_huge":
      return limited({ "retry-after": "86400" });
    case "retry_after_negative":
      return limited({ "retry-after": "-5" });
    case "retry_after_garbage":
      return limited({ "retry-after": "soon" });
    case "retry_after_in_message":
      return limited({}, `${tooMany} Please try again in 50ms.`);
    case "should_not_retry":
      return limited({ "x-should-retry": "false" });
    case "insufficient_quota":
      return limited(
        {},
        "You exceeded your current quota, please check your plan and billing details.",
        "insufficient_quota",
      );
    case "context_length":
      return {
        status: 400,
        body: errorBody(
          "Your input exceeds the context window of this model.",
          "invalid_request_error",
          "context_length_exceeded",
        ),
      };
    default:
      throw new TypeError(`"${name}" is no refusal.`);
  }
}

function statusOf(status: number): HttpStep {
  if (status === 502) {
    const body = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    return { status, headers: { "content-type": "text/html" }, body };
  }
  const messages: Readonly<Record<number, readonly [string, string, string | null]>> = {
    401: ["Incorrect API key provided.", "invalid_request_error", "invalid_api_key"],
    404: ["The model does not exist or you do not have access to it.", "invalid_request_error", "model_not_found"],
    429: [tooMany, "requests", "rate_limit_exceeded"],
    529: ["The engine is currently overloaded, please try again later.", "server_error", "overloaded"],
  };
  const type = status < 500 ? "invalid_request_error" : "server_error";
  const [message, kind, code] = messages[status] ?? [`The simulated status ${status}.`, type, null];
  return { status, body: errorBody(message, kind, code) };
}

function limited(headers: Readonly<Record<string, string>>, message = tooMany, code = "rate_limit_exceeded"): HttpStep {
  const type = code === "insufficient_quota" ? code : "requests";
  return { status: 429, headers, body: errorBody(message, type, code) };
}

function datedHeaders(now: number, aheadMs: number): Readonly<Record<string, string>> {
  const date = now + aheadMs;
  return { date: new Date(date).toUTCString(), "retry-after": new Date(date + 1_000).toUTCString() };
}

function errorBody(message: string, type: string, code: string | null): object {
  return { error: { message, type, param: null, code } };
}
