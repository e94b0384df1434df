select app.tenant_table('delivery.delivery_types', operations => 'insert');
