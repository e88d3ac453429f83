"""The models of a small shop: every usual kind of field, relations, constraints."""

import uuid

from django.db import models


class Customer(models.Model):
    name = models.CharField(max_length=60)
    email = models.EmailField(max_length=80, unique=True)
    city = models.CharField(max_length=40, null=True, db_index=True)
    active = models.BooleanField(default=True)
    credit = models.DecimalField(max_digits=15, decimal_places=2, default=0)
    created = models.DateTimeField()
    friends = models.ManyToManyField("self", blank=True)

    class Meta:
        ordering = ["id"]
        constraints = [models.CheckConstraint(check=models.Q(credit__gte=0), name="ck_credit")]
        indexes = [models.Index(fields=["name", "city"], name="ix_name_city")]


class Invoice(models.Model):
    customer = models.ForeignKey(Customer, on_delete=models.CASCADE, related_name="invoices")
    number = models.PositiveIntegerField()
    total = models.DecimalField(max_digits=15, decimal_places=2, null=True)
    issued = models.DateField()

    class Meta:
        constraints = [models.UniqueConstraint(fields=["customer", "number"], name="uq_number")]


class Everything(models.Model):
    small = models.SmallIntegerField()
    whole = models.IntegerField()
    large = models.BigIntegerField()
    real = models.FloatField()
    exact = models.DecimalField(max_digits=18, decimal_places=6)
    text = models.TextField()
    letter = models.CharField(max_length=1)
    data = models.BinaryField()
    flag = models.BooleanField(null=True)
    day = models.DateField()
    time = models.TimeField()
    moment = models.DateTimeField()
    duration = models.DurationField()
    key = models.UUIDField(default=uuid.uuid4)
    address = models.GenericIPAddressField(null=True)
    slug = models.SlugField()
