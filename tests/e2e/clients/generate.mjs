// Both clients from openapi.json, run in the folder where the generators are installed.
import { createClient } from "@hey-api/openapi-ts";
import { generate } from "orval";

await createClient({
  input: "./openapi.json",
  output: { path: "./hey", importFileExtension: ".ts" },
  plugins: ["@hey-api/client-fetch"],
});
await generate({
  input: "./openapi.json",
  output: { target: "./orval/barid.ts", client: "fetch", baseUrl: process.env.BARID_URL },
});
