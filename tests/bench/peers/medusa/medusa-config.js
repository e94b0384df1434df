const { defineConfig } = require("@medusajs/framework/utils");

const origin = "http://127.0.0.1";

module.exports = defineConfig({
  projectConfig: {
    databaseUrl: process.env.DATABASE_URL,
    http: {
      storeCors: origin,
      adminCors: origin,
      authCors: origin,
      jwtSecret: "bench",
      cookieSecret: "bench",
    },
  },
  admin: { disable: true },
});
