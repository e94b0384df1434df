/* Draws the API reference and signs in as the demo account that is chosen. Runs in the browser. */
(() => {
  const bar = document.querySelector(".bar");
  const account = document.getElementById("account");
  const state = document.getElementById("signed-in");

  const configuration = (token) => ({
    url: "/docs/reference.json",
    baseServerURL: location.origin,
    withDefaultFonts: false,
    telemetry: false,
    agent: { disabled: true },
    mcp: { disabled: true },
    hideClientButton: true,
    showDeveloperTools: "never",
    documentDownloadType: "none",
    persistAuth: false,
    defaultOpenAllTags: false,
    operationTitleSource: "summary",
    searchHotKey: "k",
    layout: "modern",
    theme: "none",
    defaultHttpClient: { targetKey: "shell", clientKey: "curl" },
    // Beside these the examples in TypeScript are the document's own.
    hiddenClients: {
      shell: ["wget", "httpie"],
      python: ["python3", "httpx_sync", "httpx_async", "aiohttp"],
      ...Object.fromEntries(
        [
          "c",
          "clojure",
          "csharp",
          "fsharp",
          "go",
          "http",
          "java",
          "js",
          "kotlin",
          "node",
          "objc",
          "ocaml",
          "php",
          "powershell",
          "r",
          "ruby",
          "rust",
          "swift",
        ]
          .map((target) => [target, true]),
      ),
    },
    authentication: {
      preferredSecurityScheme: "bearer",
      securitySchemes: { bearer: { token: token ?? "" } },
    },
  });

  const reference = Scalar.createApiReference("#api", configuration());

  async function signIn(email) {
    if (!email) {
      reference.updateConfiguration(configuration());
      state.textContent = "";
      return;
    }
    state.textContent = "…";
    const answer = await fetch("/auth/v1/token?grant_type=password", {
      method: "POST",
      headers: { apikey: bar.dataset.key, "content-type": "application/json" },
      body: JSON.stringify({ email, password: bar.dataset.password }),
    });
    const session = await answer.json();
    if (!answer.ok) {
      state.textContent = session.msg ?? session.error_description ?? `Refused: ${answer.status}`;
      return;
    }
    reference.updateConfiguration(configuration(session.access_token));
    state.textContent = `signed in for ${Math.round(session.expires_in / 60)} minutes`;
  }

  account.addEventListener("change", () => {
    signIn(account.value).catch((error) => {
      state.textContent = `Not signed in: ${error.message}`;
    });
  });
})();
