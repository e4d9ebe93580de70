// The two steps of a shared pace. Each is one script in Redis, so that all processes see one order and one clock: Redis's.
// They keep the rules of a process's own pace (routing/pace.ts of the runtime) by the same numbers, and one table of cases
// is tried on both.
import { boundNumbers, costNumbers, longestStopMs, meterNumbers, shareNumbers } from "@proviso/runtime/internal";

/** How long the place of a request is kept whose process is gone, in milliseconds. */
const leaseMs = 600_000;
/** How long Redis keeps the state of a pace that is not used any more, in milliseconds. */
const keptMs = 3_600_000;

/**
 * The beginning of both: the kinds of limits, what is known of them, and how much of them is used. The fields whose names
 * begin with "at:" are times; a clock that was set back takes them along.
 */
const common = `
local kinds = {'requests', 'tokens', 'inputTokens', 'outputTokens'}
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local function field(name) return tonumber(redis.call('HGET', KEYS[1], name) or '') end
local function set(name, value) redis.call('HSET', KEYS[1], name, string.format('%.17g', value)) end
local backMs = (field('at:seen') or now) - now
if backMs > 0 then
  for _, name in ipairs(redis.call('HKEYS', KEYS[1])) do
    if string.sub(name, 1, 3) == 'at:' then set(name, field(name) - backMs) end
  end
end
set('at:seen', now)
local function share()
  local value = field('share') or ${shareNumbers.first}
  local since = field('at:share') or now
  return math.min(${shareNumbers.first}, value * ${shareNumbers.growFactor} ^ (math.max(0, now - since) / 1000))
end
local function learn(kind, limit)
  if limit ~= nil and limit > 0 and limit < math.huge then set('limit:' .. kind, limit) end
end
local function durationMs(kind, cost)
  return math.min(${meterNumbers.mostMs}, math.max(-${meterNumbers.mostMs}, cost * 60000 / (field('limit:' .. kind) * share())))
end
redis.call('PEXPIRE', KEYS[1], ${keptMs})`;

/**
 * KEYS: state, requests in flight. ARGV: id, input tokens, output tokens (0: not known), requests in flight at most (0: no
 * limit), requests and tokens a minute that the caller knows (0: none). Returns the milliseconds to wait (-1: until a
 * request is over), what was charged, the requests a minute, the tokens a minute and the share.
 */
export const enterScript = `${common}
if field('limit:requests') == nil then learn('requests', tonumber(ARGV[5])) end
if field('limit:tokens') == nil then learn('tokens', tonumber(ARGV[6])) end
local function answer(wait, charges)
  return {
    wait,
    cjson.encode(charges),
    math.floor(field('limit:requests') or 0),
    math.floor(field('limit:tokens') or 0),
    string.format('%.17g', share()),
  }
end
redis.call('ZREMRANGEBYSCORE', KEYS[2], '-inf', now)
local most = tonumber(ARGV[4])
if most > 0 and redis.call('ZCARD', KEYS[2]) >= most then return answer(-1, {}) end
local wait = math.max(0, (field('at:stopped') or 0) - now)
for _, kind in ipairs(kinds) do
  if field('limit:' .. kind) ~= nil then wait = math.max(wait, (field('at:free:' .. kind) or 0) - now) end
end
if wait > 0 then return answer(math.ceil(wait), {}) end
local input = tonumber(ARGV[2]) * (field('inputRatio') or 1)
local bound, ratio = tonumber(ARGV[3]), field('outputRatio') or 1
local function costOf(kind, bounds)
  if kind == 'requests' then return 1 end
  local output = bound * (ratio + bounds * math.max(0, 1 - ratio))
  if bound == 0 then output = field('usualOutput') or 0 end
  return kind == 'tokens' and input + output or kind == 'inputTokens' and input or output
end
local slack = {requests = ${meterNumbers.requestSlackMs}}
local charges = {}
for _, kind in ipairs(kinds) do
  if field('limit:' .. kind) ~= nil then
    local bounds = field('bounds:' .. kind) or 0
    local cost = costOf(kind, bounds)
    local free = math.max(field('at:free:' .. kind) or 0, now - (slack[kind] or ${meterNumbers.tokenSlackMs}))
    set('at:free:' .. kind, free + durationMs(kind, cost))
    charges[kind] = {cost = cost, bounds = bounds}
  end
end
redis.call('ZADD', KEYS[2], now + ${leaseMs}, ARGV[1])
redis.call('PEXPIRE', KEYS[2], ${keptMs})
return answer(0, charges)`;

/**
 * KEYS: as above. ARGV: id; what was charged, as the first script returned it; input and output tokens of the estimate;
 * those that were spent, or -1 for both; the limits that the service stated, 0 for none, in the order of the kinds; 1 if
 * it refused for coming too often; the Retry-After in milliseconds; 1 if the request was not sent; the tokens that the
 * service stated to be left, and of how many, -1 for neither, and the same of output tokens.
 *
 * How much of what answers leave unused of their bounds stays charged follows from what is left, as in a process's own pace
 * (counted-bounds.ts of the runtime): some services count the longest answer that a request allows.
 */
export const endScript = `${common}
local place = tonumber(redis.call('ZSCORE', KEYS[2], ARGV[1]) or '')
local sentAt = (place or now) - ${leaseMs}
redis.call('ZREM', KEYS[2], ARGV[1])
for i, kind in ipairs(kinds) do learn(kind, tonumber(ARGV[6 + i])) end
local estimatedInput, bound = tonumber(ARGV[3]), tonumber(ARGV[4])
local function countBounds(kind, left, size)
  if not (size > 0 and size < math.huge and left >= 0 and left <= size) then return end
  local part = field('bounds:' .. kind) or 0
  local wanted = ${boundNumbers.leastRequests} * (estimatedInput + bound)
  local least = math.min(size * ${boundNumbers.mostPart}, math.max(size * ${boundNumbers.leastPart}, wanted))
  local plenty = ${boundNumbers.plentyPart} * size
  if left < least then part = math.min(1, part + ${boundNumbers.riseFactor} * (least - left) / least)
  elseif left > plenty then part = math.max(0, part - ${boundNumbers.fallFactor} * (left - plenty) / (size - plenty)) end
  set('bounds:' .. kind, part)
end
countBounds('tokens', tonumber(ARGV[14]), tonumber(ARGV[15]))
countBounds('outputTokens', tonumber(ARGV[16]), tonumber(ARGV[17]))
local input, output, isSent = tonumber(ARGV[5]), tonumber(ARGV[6]), ARGV[13] ~= '1'
local function learnRatio(name, real, estimated)
  if not (estimated > 0 and real > 0) then return end
  local ratio = field(name) or 1
  set(name, ratio + ${costNumbers.learning} * (math.min(${costNumbers.mostRatio}, real / estimated) - ratio))
end
local function correct()
  for kind, charge in pairs(cjson.decode(ARGV[2])) do
    local counted = output
    if isSent then counted = output + charge.bounds * math.max(0, bound - output) end
    local spent = {requests = isSent and 1 or 0, tokens = input + counted, inputTokens = input, outputTokens = counted}
    local more, free = spent[kind] - charge.cost, field('at:free:' .. kind)
    if free ~= nil and more > -math.huge and more < math.huge then set('at:free:' .. kind, free + durationMs(kind, more)) end
  end
end
if input >= 0 and output >= 0 then
  correct()
  if isSent then
    learnRatio('inputRatio', input, estimatedInput)
    if bound > 0 then learnRatio('outputRatio', output, bound) else
      local usual = field('usualOutput') or 0
      local seen = math.min(${costNumbers.longestAnswer}, output)
      set('usualOutput', usual + (usual == 0 and 1 or ${costNumbers.learning}) * (seen - usual))
    end
  end
end
if ARGV[11] == '1' then
  local cutAt = field('at:cut')
  if cutAt == nil or (sentAt > cutAt and now - cutAt >= ${shareNumbers.cutEveryMs}) then
    set('share', math.max(${shareNumbers.least}, share() * ${shareNumbers.cutFactor}))
    set('at:share', now)
    set('at:cut', now)
  end
end
local retryAfter = math.min(${longestStopMs}, tonumber(ARGV[12]))
if retryAfter > 0 then set('at:stopped', math.max(field('at:stopped') or 0, now + retryAfter)) end
return 1`;
