//! Circles of a graph: its strongly connected components of more than one module (Tarjan's algorithm).

use std::collections::BTreeMap;

use super::{Arrows, Module};

struct Search<'a> {
    arrows: &'a Arrows,
    number: BTreeMap<&'a Module, usize>,
    lowest: BTreeMap<&'a Module, usize>,
    open: Vec<&'a Module>,
    found: Vec<Vec<Module>>,
}

/// The circles, each in order of its modules' names.
pub(super) fn circles(arrows: &Arrows) -> Vec<Vec<Module>> {
    let mut search = Search {
        arrows,
        number: BTreeMap::new(),
        lowest: BTreeMap::new(),
        open: Vec::new(),
        found: Vec::new(),
    };
    for module in arrows.keys() {
        if !search.number.contains_key(module) {
            search.visit(module);
        }
    }
    search.found.sort();
    search.found
}

impl<'a> Search<'a> {
    fn visit(&mut self, module: &'a Module) {
        let number = self.number.len();
        self.number.insert(module, number);
        self.lowest.insert(module, number);
        self.open.push(module);
        for next in self.arrows.get(module).into_iter().flatten() {
            if !self.number.contains_key(next) {
                self.visit(next);
                self.lower(module, self.lowest[next]);
            } else if self.open.contains(&next) {
                self.lower(module, self.number[next]);
            }
        }
        if self.lowest[module] == number {
            let start = self.open.iter().position(|one| *one == module).expect("it is open");
            let mut circle: Vec<Module> = self.open.split_off(start).into_iter().cloned().collect();
            circle.sort();
            if circle.len() > 1 {
                self.found.push(circle);
            }
        }
    }

    fn lower(&mut self, module: &'a Module, to: usize) {
        let lowest = self.lowest.entry(module).or_insert(to);
        *lowest = to.min(*lowest);
    }
}
