import { Body, Controller, Delete, Param, Post, ValidationPipe } from '@nestjs/common';
import { AppointmentDto } from './appointment.dto.js';
import { AppointmentsService } from './appointments.service.js';

@Controller('appointments')
export class AppointmentsController {
  constructor(private readonly appointments: AppointmentsService) {}

  @Post()
  book(@Body(ValidationPipe) appointment: AppointmentDto) {
    return this.appointments.book(appointment);
  }

  @Delete(':id')
  cancel(@Param('id') id: string) {
    return this.appointments.cancel(id);
  }
}
