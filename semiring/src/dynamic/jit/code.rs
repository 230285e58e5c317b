//! How a function becomes machine code: Cranelift compiles it into memory that stays until the process ends.

use cranelift_codegen::ir::{AbiParam, Signature, Type, types};
use cranelift_codegen::isa::{CallConv, OwnedTargetIsa};
use cranelift_codegen::settings::{self, Configurable};
use cranelift_frontend::{FunctionBuilder, FunctionBuilderContext};
use cranelift_jit::{JITBuilder, JITModule};
use cranelift_module::{Module, default_libcall_names};
use std::sync::OnceLock;

/// The processor that code is made for; `None` if Cranelift doesn't know it.
fn processor() -> Option<OwnedTargetIsa> {
    static PROCESSOR: OnceLock<Option<OwnedTargetIsa>> = OnceLock::new();
    let found = PROCESSOR.get_or_init(|| {
        let mut flags = settings::builder();
        for (name, value) in [
            ("opt_level", "speed"),
            ("enable_verifier", if cfg!(debug_assertions) { "true" } else { "false" }),
            ("is_pic", "false"),
        ] {
            flags.set(name, value).ok()?;
        }
        cranelift_native::builder().ok()?.finish(settings::Flags::new(flags)).ok()
    });
    found.clone()
}

/// The type of addresses and lengths.
pub(super) fn address() -> Option<Type> {
    processor().map(|isa| isa.pointer_type())
}

/// Compiles a function of these parameters that returns 64 bits. `body` fills it in. `None` if there is no code for this processor, or if no
/// memory may be executed.
pub(super) fn compile(parameters: &[Type], body: impl FnOnce(&mut FunctionBuilder<'_>)) -> Option<*const u8> {
    let mut module = JITModule::new(JITBuilder::with_isa(processor()?, default_libcall_names()));
    let mut context = module.make_context();
    context.func.signature = signature(parameters, module.target_config().default_call_conv);
    let mut frontend = FunctionBuilderContext::new();
    let mut builder = FunctionBuilder::new(&mut context.func, &mut frontend);
    body(&mut builder);
    builder.seal_all_blocks();
    builder.finalize();
    let id = module.declare_anonymous_function(&context.func.signature).ok()?;
    module.define_function(id, &mut context).ok()?;
    module.finalize_definitions().ok()?;
    let code = module.get_finalized_function(id);
    // the code stays in memory: operators are `Copy`, so nothing tells when the last one is gone
    std::mem::forget(module);
    Some(code)
}

/// The signature of a function that returns 64 bits.
pub(super) fn signature(parameters: &[Type], convention: CallConv) -> Signature {
    let mut signature = Signature::new(convention);
    signature.params.extend(parameters.iter().map(|&of| AbiParam::new(of)));
    signature.returns.push(AbiParam::new(types::I64));
    signature
}
