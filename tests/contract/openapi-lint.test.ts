/** Two published linters with all of their rules find nothing in the API document but what is named here. */
import { createConfig, lintFromString } from "@redocly/openapi-core";
import spectral, { type RulesetDefinition } from "@stoplight/spectral-core";
import rulesets from "@stoplight/spectral-rulesets";
import { expect, test } from "vitest";
import { describeAll } from "../../shared/http/openapi.ts";
import { withExamples } from "../../supabase/local/docs/examples.ts";
import { everyFunction } from "../../supabase/local/endpoints.ts";

const source = JSON.stringify(withExamples(describeAll(await everyFunction())));

/** Rules of Redocly that the API cannot follow or does not mean to. */
const redoclyOff = {
  // The form of refusals and the names of paths are those of the interface documents.
  "operation-4xx-problem-details-rfc7807": "off",
  "path-segment-plural": "off",
  // Files are CSV and PDF.
  "request-mime-type": "off",
  "response-mime-type": "off",
  // Texts that may be empty are texts; an example of a call says more than one of each property.
  "required-string-property-missing-min-length": "off",
  "scalar-property-missing-example": "off",
  // Sections stand in the order of the work. OpenAPI 3.1 takes the licence's identifier instead of its address.
  "tags-alphabetical": "off",
  "info-license-url": "off",
  // A parameter whose name says what it is has no description.
  "parameter-description": "off",
} as const;

/** Rules of Spectral that are off for the same reasons; a project has no telephone or e-mail. */
const spectralOff = {
  "openapi-tags-alphabetical": "off",
  "license-url": "off",
  "oas3-parameter-description": "off",
  "contact-properties": "off",
} as const;

/** The interface documents have these paths; a literal segment goes before a parameter, and the parameters are ids. */
const ambiguous = [
  "/delivery/assignments/{assignmentId}/unassign",
  "/delivery/assignments/{driverId}/sequence",
].map((path) => `no-ambiguous-paths #/paths/${path.replaceAll("/", "~1")}`);

test("Redocly finds nothing", async () => {
  const config = await createConfig({ extends: ["all"], rules: redoclyOff });
  const problems = await lintFromString({ source, config });
  const found = problems.map(({ ruleId, location }) => `${ruleId} ${location[0]?.pointer}`);
  // Events have names, not paths.
  expect(found.filter((one) => !one.startsWith("paths-kebab-case #/webhooks/"))).toEqual(ambiguous);
}, 180_000);

test("Spectral finds nothing", async () => {
  const linter = new spectral.Spectral();
  const rules = rulesets.oas as unknown as RulesetDefinition;
  linter.setRuleset({ extends: [[rules, "all"]], rules: spectralOff });
  const problems = await linter.run(source);
  expect(problems.map(({ code, path }) => `${code} ${path.join("/")}`)).toEqual([]);
}, 180_000);
