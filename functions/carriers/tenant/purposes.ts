/** The purpose that a carrier's secrets are sealed for. */
export const credentialsPurpose = (code: string) => `carrier-credentials/${code}`;
export const webhookPurpose = (code: string) => `carrier-webhook/${code}`;
