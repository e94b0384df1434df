/** The purposes that stored secrets are sealed for, so that one opens nothing in another's place. */

/** Of a subscription to events. */
export const secretPurpose = (subscriptionId: string) => `webhook/${subscriptionId}`;

/** Of a carrier: the credentials that it knows the tenant by, and what its reports are signed with. */
export const credentialsPurpose = (code: string) => `carrier-credentials/${code}`;
export const webhookPurpose = (code: string) => `carrier-webhook/${code}`;

/** Of a tenant's account at a payment gateway. */
export const gatewayPurpose = (tenantId: string, code: string) =>
  `payment_gateway:${tenantId}:${code}`;
