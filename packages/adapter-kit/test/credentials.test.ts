import { checkBaseURL, credentialsIn, headerSecrets } from "@proviso/adapter-kit";
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
