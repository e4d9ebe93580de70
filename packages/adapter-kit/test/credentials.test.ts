import { checkBaseURL, credentialsIn, credentialsInError, headerSecrets } from "@proviso/adapter-kit";
import { DefinitionError } from "@proviso/core";
import { expect, test } from "vitest";

test("SEC-5 what headers carry is a secret, but for the few that are known to carry none", () => {
  const basic = Buffer.from("user:pa55w0rd!").toString("base64");
  const headers = {
    "Content-Type": "application/json",
    "x-request-id": "0123456789",
    "X-Api-Key": " key-0123456789 ",
    authorization: "Bearer token-0123456789",
    "proxy-authorization": `Basic ${basic}`,
    "x-short": "abc",
  };
  const expected = [
    "key-0123456789",
    "Bearer token-0123456789",
    "token-0123456789",
    `Basic ${basic}`,
    basic,
    "user:pa55w0rd!",
    "pa55w0rd!",
  ];
  expect(headerSecrets(headers)).toEqual(expected);
  expect(new Set(headerSecrets(new Headers(headers)))).toEqual(new Set(expected));
  expect(headerSecrets(undefined)).toEqual([]);
});

test("SEC-5 a password in an address is a secret", () => {
  expect(credentialsIn("postgres://user:p%40ssw0rd@host/db")).toEqual(["user:p%40ssw0rd@", "p%40ssw0rd", "p@ssw0rd"]);
  expect(credentialsIn("http://host/")).toEqual([]);
  expect(credentialsIn("no address")).toEqual([]);
});

test("SEC-5 what follows the question mark of an address is a secret, and what is given there under a key's name", () => {
  expect(credentialsIn("https://host/mcp?api_key=sk%2D0123456789&sig=0123456789&region=northeast&key=abc")).toEqual([
    "?api_key=sk%2D0123456789&sig=0123456789&region=northeast&key=abc",
    "sk-0123456789",
    "0123456789",
  ]);
  expect(credentialsIn("https://host/v1?api-version=2024-10-21")).toEqual(["?api-version=2024-10-21"]);
  expect(credentialsIn("https://host/v1?a=b")).toEqual([]);
  const error = Object.assign(new Error("refused"), { url: "https://host/v1?token=0123456789" });
  expect(new Set(credentialsInError(new Error("failed", { cause: error })))).toEqual(
    new Set(["?token=0123456789", "0123456789"]),
  );
  expect(credentialsInError(new Error("https://host/v1:stream?alt=sse failed"))).toEqual([]);
  expect(credentialsInError(new Error("to https://host/v1?token=0123456789/responses failed"))).toEqual([
    "?token=0123456789/responses",
    "0123456789/responses",
    "?token=0123456789",
    "0123456789",
  ]);
});

test.each([
  "http://user:pa55w0rd@host/v1",
  "https://pa55w0rd@host/v1",
  "ftp://user:pa55w0rd@host/v1",
  "user:pa55w0rd@host/v1",
  "http://user:pa55w0rd@host:port",
  "pa55w0rd",
])("SEC-5 the base URL %s is refused, and not shown", (address) => {
  const refused = (): string => {
    try {
      return checkBaseURL(address);
    } catch (error) {
      expect(error).toBeInstanceOf(DefinitionError);
      return (error as Error).message;
    }
  };
  expect(refused()).toMatch(/^The base URL must/);
  expect(refused()).not.toContain("pa55w0rd");
});
