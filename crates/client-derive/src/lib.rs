//! `#[derive(FromRow)]` for `farbird-client`: structs out of rows. Use it through that crate, which says what it does.
//!
//! A struct with named fields takes the columns by name: each field the column of its own name, whatever the case. A tuple
//! struct takes them by position. Attributes:
//!
//! | on | attribute | |
//! |---|---|---|
//! | a field | `#[farbird(rename = "NAME")]` | the column of this name |
//! | a field | `#[farbird(default)]` | `Default::default()` where the column is NULL |
//! | a field | `#[farbird(skip)]` | no column; `Default::default()` |
//! | a field | `#[farbird(flatten)]` | another struct out of the same row |
//! | the struct | `#[farbird(prefix = "C_")]` | what the columns' names have in front of the fields' |
//!
//! A struct with a lifetime borrows from the row.
#![forbid(unsafe_code)]

use proc_macro::TokenStream;
use proc_macro2::{Span, TokenStream as Tokens};
use quote::quote;
use syn::spanned::Spanned;
use syn::{
    Attribute, Data, DeriveInput, Error, Field, Fields, GenericParam, Lifetime, LifetimeParam, LitStr,
    Result, parse_macro_input, parse_quote,
};

/// Implements `farbird_client::FromRow` for a struct.
#[proc_macro_derive(FromRow, attributes(farbird))]
pub fn derive_from_row(input: TokenStream) -> TokenStream {
    let input = parse_macro_input!(input as DeriveInput);
    expand(&input).unwrap_or_else(Error::into_compile_error).into()
}

fn expand(input: &DeriveInput) -> Result<Tokens> {
    let Data::Struct(data) = &input.data else {
        return Err(Error::new(input.span(), "FromRow is derived for structs"));
    };
    let prefix = StructOptions::of(&input.attrs)?.prefix;
    let mut generics = input.generics.clone();
    // The row's life is that of the struct's borrows, if it has any.
    let row = match generics.lifetimes().next() {
        Some(own) => own.lifetime.clone(),
        None => {
            let row = Lifetime::new("'__row", Span::call_site());
            generics.params.insert(0, GenericParam::Lifetime(LifetimeParam::new(row.clone())));
            row
        }
    };
    let values = data.fields.iter().enumerate().map(|(index, field)| value(field, index, &prefix));
    let values = values.collect::<Result<Vec<_>>>()?;
    let expected = expected_columns(&data.fields, &prefix, &row)?;
    for parameter in input.generics.type_params() {
        let name = &parameter.ident;
        generics.make_where_clause().predicates.push(parse_quote!(#name: ::farbird_client::FromValue<#row>));
    }
    let (implemented, _, conditions) = generics.split_for_impl();
    let (_, own, _) = input.generics.split_for_impl();
    let name = &input.ident;
    let made = match &data.fields {
        Fields::Named(fields) => {
            let names = fields.named.iter().map(|field| &field.ident);
            quote!(#name { #(#names: #values,)* })
        }
        Fields::Unnamed(_) => quote!(#name(#(#values,)*)),
        Fields::Unit => {
            return Err(Error::new(input.span(), "a struct without fields takes nothing of a row"));
        }
    };
    Ok(quote! {
        #[automatically_derived]
        impl #implemented ::farbird_client::FromRow<#row> for #name #own #conditions {
            fn from_row(row: &#row ::farbird_client::Row) -> ::farbird_client::Result<Self> {
                ::core::result::Result::Ok(#made)
            }

            #expected
        }
    })
}

/// What a field is made by.
fn value(field: &Field, index: usize, prefix: &str) -> Result<Tokens> {
    let options = FieldOptions::of(&field.attrs)?;
    if options.skip {
        return Ok(quote!(::core::default::Default::default()));
    }
    if options.flatten {
        return Ok(quote!(::farbird_client::FromRow::from_row(row)?));
    }
    let column = match column_name(field, &options, prefix) {
        Some(name) => quote!(#name),
        None => quote!(#index),
    };
    if options.default {
        let kind = &field.ty;
        return Ok(quote!(row.get::<::core::option::Option<#kind>>(#column)?.unwrap_or_default()));
    }
    Ok(quote!(row.get(#column)?))
}

/// The name of a field's column; none for one that is taken by its place.
fn column_name(field: &Field, options: &FieldOptions, prefix: &str) -> Option<String> {
    options.rename.clone().or_else(|| {
        let name = field.ident.as_ref()?.to_string();
        Some(format!("{prefix}{}", name.strip_prefix("r#").unwrap_or(&name)))
    })
}

/// The method that tells the columns of the struct. Nothing for one that cannot tell: with columns of another struct among
/// its own, or where one is passed over between places.
fn expected_columns(fields: &Fields, prefix: &str, row: &Lifetime) -> Result<Tokens> {
    let mut columns = Vec::new();
    for field in fields {
        let options = FieldOptions::of(&field.attrs)?;
        if options.flatten || (options.skip && field.ident.is_none()) {
            return Ok(Tokens::new());
        }
        if options.skip {
            continue;
        }
        let kind = &field.ty;
        let column_type = quote!(<#kind as ::farbird_client::FromValue<#row>>::column_type()?);
        columns.push(match column_name(field, &options, prefix) {
            Some(name) => quote!(::farbird_client::ExpectedColumn::named(#name, #column_type)),
            None => quote!(::farbird_client::ExpectedColumn::at_its_place(#column_type)),
        });
    }
    Ok(quote! {
        fn expected_columns()
        -> ::core::option::Option<::std::vec::Vec<::farbird_client::ExpectedColumn>> {
            ::core::option::Option::Some(::std::vec![#(#columns),*])
        }
    })
}

#[derive(Default)]
struct StructOptions {
    prefix: String,
}

impl StructOptions {
    fn of(attributes: &[Attribute]) -> Result<StructOptions> {
        let mut options = StructOptions::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("farbird")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("prefix") {
                    options.prefix = meta.value()?.parse::<LitStr>()?.value();
                    return Ok(());
                }
                Err(meta.error("there is only `prefix` for structs"))
            })?;
        }
        Ok(options)
    }
}

#[derive(Default)]
struct FieldOptions {
    rename: Option<String>,
    default: bool,
    skip: bool,
    flatten: bool,
}

impl FieldOptions {
    fn of(attributes: &[Attribute]) -> Result<FieldOptions> {
        let mut options = FieldOptions::default();
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("farbird")) {
            attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("rename") {
                    options.rename = Some(meta.value()?.parse::<LitStr>()?.value());
                } else if meta.path.is_ident("default") {
                    options.default = true;
                } else if meta.path.is_ident("skip") {
                    options.skip = true;
                } else if meta.path.is_ident("flatten") {
                    options.flatten = true;
                } else {
                    return Err(meta.error("there are `rename`, `default`, `skip` and `flatten` for fields"));
                }
                Ok(())
            })?;
        }
        if options.flatten && (options.rename.is_some() || options.default || options.skip) {
            return Err(Error::new(Span::call_site(), "`flatten` goes with no other attribute"));
        }
        Ok(options)
    }
}
