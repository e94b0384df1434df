select app.tenant_table('money.cash_transfers', own => '{}', operations => '');
