import { errorStep, type ServiceError } from "./service-error.ts";
import type { Api, HttpStep } from "./types.ts";

/** What a "status" fault answers with. @param now milliseconds since 1970. */
export function refusalOf(name: string, now: number, api: Api): HttpStep {
  const status = /^status_(\d+)$/.exec(name)?.[1];
  if (status === "502") {
    const body = "<html><head><title>502 Bad Gateway</title></head><body>nginx</body></html>";
    return { status: 502, headers: { "content-type": "text/html" }, body };
  }
  const error = status === undefined ? named(name, now, api) : (own(`status_${status}`, api) ?? ofStatus(+status));
  return errorStep(api, error);
}

function named(name: string, now: number, api: Api): ServiceError {
  switch (name) {
    case "retry_after_seconds":
      return { ...limited(api, { "retry-after": "1" }), retryMs: 1_000 };
    case "retry_after_fraction":
      return { ...limited(api, { "retry-after": "0.5" }), retryMs: 500 };
    case "retry_after_date":
      return limited(api, datedHeaders(now, 0));
    case "retry_after_skewed_date":
      return limited(api, datedHeaders(now, 3_600_000));
    case "retry_after_ms":
      return limited(api, { "retry-after-ms": "50" });
    case "retry_after_huge":
      return { ...limited(api, { "retry-after": "86400" }), retryMs: 86_400_000 };
    case "retry_after_negative":
      return limited(api, { "retry-after": "-5" });
    case "retry_after_garbage":
      return limited(api, { "retry-after": "soon" });
    case "retry_after_in_message":
      return { ...limited(api, {}), message: `${limited(api, {}).message} Please try again in 50ms.` };
    case "should_not_retry":
      return limited(api, { "x-should-retry": "false" });
    default: {
      const error = own(name, api);
      if (error === undefined) throw new TypeError(`"${name}" is no refusal.`);
      return error;
    }
  }
}

/** What a service has words of its own for. */
function own(name: string, api: Api): ServiceError | undefined {
  return (api === "anthropic" ? anthropic : api === "gemini" ? gemini : openai)[name];
}

type Errors = Readonly<Record<string, ServiceError>>;

const openai: Errors = {
  status_401: error(401, "Incorrect API key provided.", "invalid_api_key"),
  status_404: error(404, "The model does not exist or you do not have access to it.", "model_not_found"),
  status_429: {
    ...error(429, "Rate limit reached for requests. Limit: 3 / min.", "rate_limit_exceeded"),
    type: "requests",
  },
  status_529: error(529, "The engine is currently overloaded, please try again later.", "overloaded"),
  insufficient_quota: {
    ...error(429, "You exceeded your current quota, please check your plan and billing details.", "insufficient_quota"),
    type: "insufficient_quota",
  },
  context_length: error(400, "Your input exceeds the context window of this model.", "context_length_exceeded"),
};

// Source: Anthropic API reference, "Errors" and "Rate limits".
const anthropic: Errors = {
  status_401: error(401, "invalid x-api-key"),
  status_404: error(404, "model: claude-none"),
  status_429: error(429, "This request would exceed your organization's rate limit of 3 requests per minute."),
  status_529: error(529, "Overloaded"),
  insufficient_quota: error(
    400,
    "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits.",
  ),
  context_length: error(400, "prompt is too long: 210000 tokens > 200000 maximum"),
};

// Source: Gemini API, "Troubleshooting guide" and "Rate limits".
const geminiQuota = "You exceeded your current quota, please check your plan and billing details.";
const gemini: Errors = {
  status_401: error(
    401,
    "Request had invalid authentication credentials. Expected OAuth 2 access token, login cookie or other valid authentication credential.",
  ),
  status_404: error(404, "models/gemini-none is not found for API version v1beta."),
  status_429: error(429, geminiQuota, "rate_limit_exceeded"),
  status_503: error(503, "The model is overloaded. Please try again later."),
  insufficient_quota: error(429, geminiQuota, "insufficient_quota"),
  context_length: error(400, "The input token count (1200000) exceeds the maximum number of tokens allowed (1048576)."),
};

function error(status: number, message: string, code?: string): ServiceError {
  return { status, message, ...(code === undefined ? {} : { code }) };
}

function ofStatus(status: number): ServiceError {
  return { status, message: `The simulated status ${status}.` };
}

function limited(api: Api, headers: Readonly<Record<string, string>>): ServiceError {
  return { ...(own("status_429", api) ?? ofStatus(429)), headers };
}

function datedHeaders(now: number, aheadMs: number): Readonly<Record<string, string>> {
  const date = now + aheadMs;
  return { date: new Date(date).toUTCString(), "retry-after": new Date(date + 1_000).toUTCString() };
}
