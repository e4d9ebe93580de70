// The two steps of a shared pace. Each is one script in Redis, so that all processes see one order and one clock: Redis's.

/** The beginning of both: the kinds of limits, what is known of them, and how much of them is used. */
const common = `
local kinds = {'requests', 'tokens', 'inputTokens', 'outputTokens'}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function field(name) return tonumber(redis.call('HGET', KEYS[1], name) or '') end
local function set(name, value) redis.call('HSET', KEYS[1], name, string.format('%.17g', value)) end
local function share()
  local value = field('share') or 0.99
  local since = field('shareAt') or now
  return math.min(0.99, value * 1.02 ^ (math.max(0, now - since) / 1000))
end
local function learn(kind, limit)
  if limit ~= nil and limit > 0 and limit < math.huge then set('limit:' .. kind, limit) end
end
local function perMs(kind)
  local limit = field('limit:' .. kind)
  if limit == nil then return nil end
  return limit * share() / 60000
end
redis.call('PEXPIRE', KEYS[1], 3600000)`;

/**
 * KEYS: state, requests in flight. ARGV: id, input tokens, output tokens (0: not known), lease in milliseconds, requests
 * in flight at most (0: no limit), requests and tokens a minute that the caller knows (0: none). Returns the milliseconds
 * to wait (-1: until a request is over), the output tokens that were charged, the requests a minute, the tokens a minute
 * and the share in thousandths.
 */
export const enterScript = `${common}
if field('limit:requests') == nil then learn('requests', tonumber(ARGV[6])) end
if field('limit:tokens') == nil then learn('tokens', tonumber(ARGV[7])) end
local output = tonumber(ARGV[3])
if output == 0 then output = math.floor(field('meanOutput') or 0) end
local function answer(wait)
  return {wait, output, math.floor(field('limit:requests') or 0), math.floor(field('limit:tokens') or 0), math.floor(share() * 1000)}
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local most = tonumber(ARGV[5])
if most > 0 and redis.call('ZCARD', KEYS[2]) >= most then return answer(-1) end
local input = tonumber(ARGV[2])
local cost = {requests = 1, tokens = input + output, inputTokens = input, outputTokens = output}
local slack = {requests = 100, tokens = 1000, inputTokens = 1000, outputTokens = 1000}
local wait = math.max(0, (field('stoppedUntil') or 0) - now)
for _, kind in ipairs(kinds) do
  if perMs(kind) ~= nil then wait = math.max(wait, (field('next:' .. kind) or 0) - now) end
end
if wait > 0 then return answer(math.ceil(wait)) end
for _, kind in ipairs(kinds) do
  local rate = perMs(kind)
  if rate ~= nil then set('next:' .. kind, math.max(field('next:' .. kind) or 0, now - slack[kind]) + cost[kind] / rate) end
end
redis.call('ZADD', KEYS[2], now + tonumber(ARGV[4]), ARGV[1])
redis.call('PEXPIRE', KEYS[2], 3600000)
return answer(0)`;

/**
 * KEYS: as above. ARGV: id; input and output tokens that were charged; those that were spent, or -1 for both; the limits
 * that the service stated, 0 for none, in the order of the kinds; 1 if it refused for coming too often; the Retry-After in
 * milliseconds; 1 if the request was not sent; the tokens that the service stated to be left, and of how many, -1 for
 * neither, and the same of output tokens.
 *
 * How much of what answers leave unused of their bounds stays charged follows from what is left, as in a process's own pace
 * (counted-bounds.ts of the runtime): some services count the longest answer that a request allows.
 */
export const endScript = `${common}
redis.call('ZREM', KEYS[2], ARGV[1])
for i, kind in ipairs(kinds) do learn(kind, tonumber(ARGV[5 + i])) end
local function countBounds(kind, left, size)
  if not (size > 0 and left >= 0 and left <= size) then return end
  local share = field('bounds:' .. kind) or 0
  local least = math.min(size / 2, math.max(size / 4, 2 * (tonumber(ARGV[2]) + tonumber(ARGV[3]))))
  local plenty = 0.75 * size
  if left < least then share = math.min(1, share + 0.25 * (least - left) / least)
  elseif left > plenty then share = math.max(0, share - 0.05 * (left - plenty) / (size - plenty)) end
  set('bounds:' .. kind, share)
end
countBounds('tokens', tonumber(ARGV[13]), tonumber(ARGV[14]))
countBounds('outputTokens', tonumber(ARGV[15]), tonumber(ARGV[16]))
local input, output = tonumber(ARGV[4]), tonumber(ARGV[5])
if input >= 0 then
  local moreInput, moreOutput = input - tonumber(ARGV[2]), output - tonumber(ARGV[3])
  local function counted(kind)
    if ARGV[12] == '1' or moreOutput > 0 then return moreOutput end
    return moreOutput * (1 - (field('bounds:' .. kind) or 0))
  end
  local more = {requests = 0, tokens = moreInput + counted('tokens'), inputTokens = moreInput, outputTokens = counted('outputTokens')}
  if ARGV[12] == '1' then more.requests = -1 else
    set('meanOutput', (field('meanOutput') or output) * 0.9 + output * 0.1)
  end
  for _, kind in ipairs(kinds) do
    local rate, at = perMs(kind), field('next:' .. kind)
    if rate ~= nil and at ~= nil then set('next:' .. kind, at + more[kind] / rate) end
  end
end
if ARGV[10] == '1' and now - (field('refusedAt') or 0) >= 1000 then
  set('share', math.max(0.05, share() * 0.85))
  set('shareAt', now)
  set('refusedAt', now)
end
local retryAfter = math.min(15000, tonumber(ARGV[11]))
if retryAfter > 0 then set('stoppedUntil', math.max(field('stoppedUntil') or 0, now + retryAfter)) end
return 1`;
