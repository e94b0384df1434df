import { errorCodes, publicFieldsOf, statusOf } from "../../../shared/errors/errors.ts";
import { template } from "../../../shared/i18n/index.ts";
import { escaped } from "./escaped.ts";

const languages = [["en", "en", "English"], ["ar", "ar", "Arabic"], [
  "ku",
  "ckb",
  "Kurdish",
]] as const;

/** Every code with its status, its fields and its texts; `#code` leads to it. */
export function codesPage(): string {
  const rows = errorCodes.toSorted().map((code) => {
    const texts = languages.map(([language, tag, name]) =>
      `<td lang="${tag}" dir="auto" data-label="${name}">${escaped(template(language, code))}</td>`
    );
    const fields = publicFieldsOf(code).map((field) => `<code>${field}</code>`).join(" ");
    return `<tr id="${code}"><th scope="row"><a href="#${code}"><code>${
      code.replaceAll("_", "_<wbr>")
    }</code></a></th><td data-label="Status">${
      statusOf(code)
    }</td><td data-label="Fields">${fields}</td>${texts.join("")}</tr>`;
  });
  return `<!doctype html>
<html lang="en">
<head>
  <meta charset="utf-8">
  <meta name="viewport" content="width=device-width, initial-scale=1">
  <title>Barid: codes of refusals</title>
  <link rel="icon" href="data:,">
  <link rel="stylesheet" href="/docs/docs.css">
</head>
<body class="codes">
  <header class="bar"><strong>Codes of refusals</strong> <nav><a href="/docs">Calls</a> <a href="/docs/openapi.json">OpenAPI</a></nav></header>
  <main>
    <p>A refusal is <code>{"success": false, "code": …, "message": …}</code> with the fields named here. Codes never change; messages do,
    and come in the language asked for. <code>{…}</code> is filled in.</p>
    <label>Find <input id="find" type="search" placeholder="code, status or words"></label> <output id="found"></output>
    <table>
      <thead><tr><th>Code</th><th>Status</th><th>Fields</th>${
    languages.map(([, , name]) => `<th>${name}</th>`).join("")
  }</tr></thead>
      <tbody>
${rows.join("\n")}
      </tbody>
    </table>
  </main>
  <script>
    const rows = [...document.querySelectorAll("tbody tr")];
    const find = document.getElementById("find");
    const show = () => {
      const words = find.value.toLowerCase().split(/\\s+/).filter(Boolean);
      for (const row of rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
      document.getElementById("found").textContent = rows.filter((row) => !row.hidden).length + " of " + rows.length;
    };
    find.addEventListener("input", show);
    show();
  </script>
</body>
</html>
`;
}
