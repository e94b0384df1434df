-- Pay is written by SECURITY DEFINER functions in money: with the completion that earns it, and with its payout.
select app.tenant_table('money.driver_pay', own => '{driver_id}', operations => '', audit => false);
select app.tenant_table('money.driver_payouts', own => '{driver_id}', operations => '');
select app.tenant_table('money.driver_payout_items', own => '{}', operations => '', audit => false);
select app.append_only('money.driver_payouts', '{reversed_at,reversed_by,reversal_reason}');
select app.append_only('money.driver_payout_items', '{reversed_at}');
select app.counted('driver_pay', 'money.driver_pay', '{status,driver_id,currency}', 'amount', rollup => '{status,currency}');
